#include "transport/common/lazy_memory.hpp"

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

using namespace troupe;

namespace {

struct mapping {
  explicit mapping(int kind)
      : bytes{static_cast<std::byte*>(
                  ::mmap(nullptr, size, PROT_READ | PROT_WRITE, kind | MAP_ANONYMOUS, -1, 0)),
              size} {}
  ~mapping() { ::munmap(bytes.data(), size); }
  size_t present() const {
    std::vector<unsigned char> pages(size / page);
    REQUIRE(::mincore(bytes.data(), size, pages.data()) == 0);
    return page * static_cast<size_t>(std::ranges::count_if(pages, [](auto p) { return p & 1; }));
  }
  static constexpr size_t size = 4u << 20;
  const size_t page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  std::span<std::byte> bytes;
};

}  // namespace

TEST_CASE("lazy memory: pages are taken where they are wanted, and keep their content") {
  for (const int kind : {MAP_PRIVATE, MAP_SHARED}) {
    mapping m(kind);
    ::madvise(m.bytes.data(), m.size, MADV_NOHUGEPAGE);
    m.bytes[1u << 20] = std::byte{7};
    CHECK(m.present() == m.page);
    CHECK(make_present(m.bytes.subspan((1u << 20) + 1, 1u << 20)));
    CHECK(m.present() == (1u << 20) + m.page);
    CHECK(m.bytes[1u << 20] == std::byte{7});
  }
}

TEST_CASE("lazy memory: discarded pages are free, and zero afterwards") {
  for (const int kind : {MAP_PRIVATE, MAP_SHARED}) {
    mapping m(kind);
    std::ranges::fill(m.bytes, std::byte{7});
    CHECK(m.present() == m.size);
    discard_pages(m.bytes);
    CHECK(m.present() == 0);
    CHECK(std::ranges::all_of(m.bytes, [](std::byte b) { return b == std::byte{0}; }));
  }
}

TEST_CASE("lazy memory: an address without memory is refused") {
  auto* gone =
      static_cast<std::byte*>(::mmap(nullptr, 1u << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ::munmap(gone, 1u << 20);
  CHECK(!make_present({gone, 1u << 20}));
}

TEST_CASE("lazy memory: a process without devices has no pinned memory") { CHECK(pinned_bytes() == 0); }
