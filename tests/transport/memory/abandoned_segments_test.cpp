#include "transport/memory/abandoned_segments.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

using namespace troupe;
using namespace std::chrono_literals;

namespace {

constexpr size_t bytes = 64 << 10;

/// A folder in /dev/shm: other file systems may number their files differently for stat and in `maps`.
struct segments {
  segments() {
    std::string name = "/dev/shm/troupe-test-XXXXXX";
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    folder = name;
  }
  ~segments() { std::filesystem::remove_all(folder); }
  std::filesystem::path add(const std::string& name) const {
    const auto path = folder / name;
    std::ofstream(path) << std::string(bytes, 'x');
    return path;
  }
  removed_segments sweep(std::chrono::seconds age = 0s) const {
    return remove_abandoned_segments(folder, std::filesystem::file_time_type::clock::now() + 1s - age);
  }

  std::filesystem::path folder;
};

}  // namespace

TEST_CASE("abandoned segments: a segment of nobody is removed, and its bytes are counted") {
  const segments s;
  const auto left = s.add("ucx_shm_posix_1f"), other = s.add("another_file");
  std::filesystem::create_directory(s.folder / "ucx_shm_posix_folder");
  const auto removed = s.sweep();
  CHECK(removed.count == 1);
  CHECK(removed.bytes >= bytes);
  CHECK_FALSE(std::filesystem::exists(left));
  CHECK(std::filesystem::exists(other));
  CHECK(std::filesystem::exists(s.folder / "ucx_shm_posix_folder"));
}

TEST_CASE("abandoned segments: a segment that a process has open or mapped stays") {
  const segments s;
  const auto open = s.add("ucx_shm_posix_1"), mapped = s.add("ucx_shm_posix_2");
  const int held = ::open(open.c_str(), O_RDONLY), other = ::open(mapped.c_str(), O_RDONLY);
  void* const memory = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, other, 0);
  REQUIRE(memory != MAP_FAILED);
  ::close(other);
  CHECK(s.sweep().count == 0);
  ::munmap(memory, bytes);
  CHECK(s.sweep().count == 1);
  CHECK(std::filesystem::exists(open));
  ::close(held);
  CHECK(s.sweep().count == 1);
}

TEST_CASE("abandoned segments: one that was written just now stays, as its process may be invisible") {
  const segments s;
  s.add("ucx_shm_posix_1");
  CHECK(s.sweep(60s).count == 0);
}

TEST_CASE("abandoned segments: a folder that is not there has none") {
  CHECK(remove_abandoned_segments("/no/such/folder", {}).count == 0);
}
