#include "gpu/common/mapped_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "gpu/common/model_error.hpp"

namespace troupe {

namespace {

struct descriptor {
  int number = -1;
  ~descriptor() {
    if (number >= 0) close(number);
  }
};

[[noreturn]] void fail(const std::filesystem::path& path, int error) {
  throw model_error(fmt::format("{}: {}", path.string(), std::generic_category().message(error)));
}

}  // namespace

mapped_file::mapped_file(const std::filesystem::path& path) {
  const descriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  struct stat status {};
  if (file.number < 0 || fstat(file.number, &status) != 0) fail(path, errno);
  if (!S_ISREG(status.st_mode)) throw model_error(fmt::format("{}: is not a file", path.string()));
  if (status.st_size == 0) return;  // mmap refuses it
  const auto size = static_cast<size_t>(status.st_size);
  const void* data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number, 0);
  if (data == MAP_FAILED) fail(path, errno);
  bytes_ = {static_cast<const std::byte*>(data), size};
}

mapped_file::~mapped_file() {
  if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

mapped_file::mapped_file(mapped_file&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

mapped_file& mapped_file::operator=(mapped_file&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

std::string read_text(const std::filesystem::path& path, size_t limit) {
  const mapped_file file(path);
  const auto bytes = file.bytes();
  if (bytes.size() > limit) {
    throw model_error(fmt::format("{}: has {} bytes, more than the {} that such a file may have",
                                  path.string(), bytes.size(), limit));
  }
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace troupe
