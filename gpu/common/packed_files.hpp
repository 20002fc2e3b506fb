// The files of a model, byte for byte in one run of memory. So they travel between nodes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace troupe {

/// Files below one folder.
struct model_file_list {
  struct file {
    std::string name;  ///< relative to the folder
    uint64_t bytes = 0;
  };
  std::string opened;  ///< the file that loaders open; empty: they open the folder
  std::vector<file> files;
};

/// Where packed files lie: a head with their names and sizes, their contents at multiples of 64 bytes with
/// zeros between them, and the seal, 8 bytes, at the end. Numbers are little-endian.
class packed_layout {
 public:
  /// Throws model_error for names or numbers of files that `unpack` refuses.
  explicit packed_layout(const model_file_list& list);

  std::span<const std::byte> head() const { return head_; }
  uint64_t offset_of(size_t file) const { return offsets_[file]; }
  /// In all; a multiple of 64.
  uint64_t bytes() const { return bytes_; }

 private:
  std::vector<std::byte> head_;
  std::vector<uint64_t> offsets_;
  uint64_t bytes_ = 0;
};

inline constexpr uint64_t packed_seal_bytes = 8;
/// Of everything before it (XXH3).
uint64_t packed_seal(std::span<const std::byte> before);

struct unpacked_files {
  struct file {
    std::string name;
    std::span<const std::byte> bytes;  ///< in the packed memory
  };
  std::string opened;
  std::vector<file> files;
};

/// Throws model_error unless these are packed files under their seal. A name never leads out of its folder:
/// it is relative, without empty parts, "." and "..", and given once. Throws nothing else on any bytes.
unpacked_files unpack(std::span<const std::byte> packed);

}  // namespace troupe
