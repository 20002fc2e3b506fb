#include "tools/node/memory_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <system_error>

#include "gpu/common/model_error.hpp"

namespace troupe {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse_folder(const fs::path& what, int error) {
  throw model_error(
      fmt::format("{}: {}", what.string(), std::error_code(error, std::system_category()).message()));
}

timespec to_timespec(fs::file_time_type t) {
  using namespace std::chrono;
  const auto ns = duration_cast<nanoseconds>(file_clock::to_sys(t).time_since_epoch()).count();
  return {static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
}

struct open_descriptor {
  explicit open_descriptor(int d) : descriptor(d) {}
  ~open_descriptor() {
    if (descriptor >= 0) ::close(descriptor);
  }
  open_descriptor(const open_descriptor&) = delete;
  open_descriptor& operator=(const open_descriptor&) = delete;
  int descriptor;
};

int open_folder(const fs::path& place) { return ::open(place.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }

/// Whether it is the open folder that has this path, and not a later one.
bool is_at(int folder, const fs::path& place) {
  struct stat opened {};
  struct stat there {};
  return ::fstat(folder, &opened) == 0 && ::stat(place.c_str(), &there) == 0 &&
         opened.st_dev == there.st_dev && opened.st_ino == there.st_ino;
}

}  // namespace

const fs::path& memory_folder::parent() {
  static const fs::path place = "/dev/shm";
  return place;
}

void memory_folder::remove_abandoned(std::string_view prefix) {
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(parent(), failed)) {
    if (!entry.path().filename().string().starts_with(prefix)) continue;
    const open_descriptor folder(open_folder(entry.path()));
    if (folder.descriptor >= 0 && ::flock(folder.descriptor, LOCK_EX | LOCK_NB) == 0 &&
        is_at(folder.descriptor, entry.path()))
      fs::remove_all(entry.path(), failed);
  }
}

memory_folder::memory_folder(const unpacked_files& files, const fs::path& place, fs::file_time_type written)
    : place_(place), opened_(files.opened.empty() ? place : place / files.opened) {
  create();
  try {
    for (const auto& f : files.files) add(f, written);
    fs::last_write_time(place_, written);
  } catch (const fs::filesystem_error& e) {
    remove();
    throw model_error(e.what());
  } catch (...) {
    remove();
    throw;
  }
}

memory_folder::~memory_folder() { remove(); }

/// It is renamed to `place_` once it is locked: without its lock, a process that starts at that moment would
/// take it for the folder of an ended one.
void memory_folder::create() {
  const auto unnamed = place_.parent_path() / ("." + place_.filename().string());
  if (::mkdir(unnamed.c_str(), 0700) != 0) refuse_folder(place_, errno);
  lock_ = open_folder(unnamed);
  if (lock_ >= 0 && ::flock(lock_, LOCK_EX | LOCK_NB) == 0 && ::rename(unnamed.c_str(), place_.c_str()) == 0)
    return;
  const auto problem = errno;
  ::rmdir(unnamed.c_str());
  if (lock_ >= 0) ::close(lock_);
  refuse_folder(place_, problem);
}

void memory_folder::add(const unpacked_files::file& file, fs::file_time_type written) const {
  const auto name = place_ / file.name;
  fs::create_directories(name.parent_path());
  const open_descriptor to(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (to.descriptor < 0) refuse_folder(name, errno);
  for (auto left = file.bytes; !left.empty();) {
    const auto n = ::write(to.descriptor, left.data(), left.size());
    if (n < 0 && errno != EINTR) refuse_folder(name, errno);
    if (n > 0) left = left.subspan(static_cast<size_t>(n));
  }
  const timespec times[] = {to_timespec(written), to_timespec(written)};
  if (::futimens(to.descriptor, times) != 0) refuse_folder(name, errno);
}

void memory_folder::remove() noexcept {
  std::error_code ignored;
  fs::remove_all(place_, ignored);
  if (lock_ >= 0) ::close(lock_);
}

}  // namespace troupe
