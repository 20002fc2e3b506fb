// The files that a tensor model is loaded from, on this node's disk.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>

#include "gpu/common/packed_files.hpp"
#include "gpu/llm/image_set.hpp"

namespace troupe {

/// Of an ONNX file: it, and its external data. Of an encoder's folder: its weights, and the JSON and text
/// files in it and one folder below. Throws model_error if a file is missing.
model_file_list list_model_files(const std::filesystem::path& source);

/// Packs files as they are read.
class disk_files {
 public:
  /// Throws model_error.
  explicit disk_files(const std::filesystem::path& source);

  uint64_t bytes() const { return layout_.bytes(); }
  /// Packs the next chunks of the images, one at a call; false: they are complete, or have failed. Chunks
  /// that are ready, such as those that a peer gave, must be equal. Throws model_error if they are not, or a
  /// file has changed. Requires: `images` has `bytes()`.
  bool read_next(llm::image_set& images);

 private:
  void check_ready(llm::image_set& images) const;
  /// Without the seal.
  void read(uint64_t at, std::span<std::byte> to) const;
  void read_file(size_t file, uint64_t at, std::span<std::byte> to) const;

  const std::filesystem::path folder_;
  const model_file_list list_;
  const packed_layout layout_;
  bool checked_ = false;
};

}  // namespace troupe
