// Resampling of images: equal to Image.resize of Pillow before version 13. When an image shrinks, the filter
// widens by the same factor, so that every pixel counts. Two passes, rows and then columns, with values of 8
// bits between them. Pillow 13 begins with the columns where that is less work, which changes a value by 1,
// and by more where the bicubic filter overshoots.
#pragma once
#include <cstdint>

#include "messages/tensor/image_input.hpp"
#include "transport/image/image.hpp"

namespace troupe {

/// A window of a resized image: only its pixels are computed.
struct image_window {
  uint64_t width = 0, height = 0;  ///< of the whole resized image, at least 1
  uint64_t left = 0, top = 0;      ///< of the window, which lies inside
  uint32_t window_width = 0, window_height = 0;
  bool operator==(const image_window&) const = default;
};

/// The window, with the image's channels. Reads only the pixels that count, and takes memory for five times
/// the window's values.
image resample(const image& from, const image_window& window, image_filter filter);

}  // namespace troupe
