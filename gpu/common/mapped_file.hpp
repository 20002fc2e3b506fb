#pragma once
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace troupe {

/// A read-only memory-mapped file, paged in on access. Movable, not copyable. Truncating the file while it is
/// mapped kills the process (SIGBUS): replace files, do not rewrite them.
class mapped_file {
 public:
  mapped_file() = default;  ///< empty
  /// Throws model_error if the file cannot be read or is not a regular file (a pipe would block).
  explicit mapped_file(const std::filesystem::path& path);
  ~mapped_file();
  mapped_file(mapped_file&& other) noexcept;
  mapped_file& operator=(mapped_file&& other) noexcept;

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

/// Reads a small file. Throws model_error, which names it, if it cannot be read or has more than `limit`
/// bytes.
std::string read_text(const std::filesystem::path& path, size_t limit);

}  // namespace troupe
