// A decoded image in memory.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>

namespace troupe {

/// A file that is no image, or one that is refused. `what()` continues a sentence about the file.
struct image_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// 8 bits per value, interleaved and without padding: [height, width, channels].
struct image {
  uint32_t width = 0;
  uint32_t height = 0;
  uint32_t channels = 0;  ///< 1: luminance; 3: red, green, blue
  std::unique_ptr<uint8_t[]> pixels;

  /// The values are unspecified.
  static image of_size(uint32_t width, uint32_t height, uint32_t channels) {
    return {width, height, channels,
            std::make_unique_for_overwrite<uint8_t[]>(size_t{width} * height * channels)};
  }
  size_t row_bytes() const { return size_t{width} * channels; }
  size_t bytes() const { return row_bytes() * height; }
  uint8_t* row(size_t y) { return pixels.get() + y * row_bytes(); }
  const uint8_t* row(size_t y) const { return pixels.get() + y * row_bytes(); }
};

}  // namespace troupe
