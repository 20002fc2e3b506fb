#pragma once
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace troupe::llm {

/// A file in memory, read-only, paged in as it is touched. Movable, not copyable. Whoever cuts the file short
/// while it is mapped ends the process (SIGBUS): replace files, do not rewrite them.
class mapped_file {
 public:
  mapped_file() = default;  ///< of no bytes
  /// Throws model_error if it cannot be read or is no regular file (a pipe would wait for ever).
  explicit mapped_file(const std::filesystem::path& path);
  ~mapped_file();
  mapped_file(mapped_file&& other) noexcept;
  mapped_file& operator=(mapped_file&& other) noexcept;

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

/// All of a small text file. Throws model_error if it cannot be read or has more than `limit` bytes.
std::string read_text(const std::filesystem::path& path, size_t limit);

}  // namespace troupe::llm
