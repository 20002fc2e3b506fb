// The computation of a model's input from image files, which gateways do.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "messages/common/message.hpp"

namespace troupe {

enum class image_filter : uint16_t { bilinear, bicubic, nearest };
inline constexpr size_t image_filter_count = 3;
/// As in cluster files.
inline constexpr std::array<std::string_view, image_filter_count> image_filter_names{"bilinear", "bicubic",
                                                                                     "nearest"};
constexpr std::string_view to_string(image_filter f) { return image_filter_names[static_cast<size_t>(f)]; }

enum class image_channels : uint16_t { rgb, bgr, l };
inline constexpr size_t image_channels_count = 3;
constexpr std::string_view to_string(image_channels c) {
  constexpr std::array<std::string_view, image_channels_count> names{"rgb", "bgr", "l"};
  return names[static_cast<size_t>(c)];
}
constexpr uint32_t count_of(image_channels c) { return c == image_channels::l ? 1 : 3; }

enum class image_layout : uint16_t { nchw, nhwc };
inline constexpr size_t image_layout_count = 2;
constexpr std::string_view to_string(image_layout l) {
  constexpr std::array<std::string_view, image_layout_count> names{"nchw", "nhwc"};
  return names[static_cast<size_t>(l)];
}

inline constexpr double default_image_scale = 1.0 / 255;
inline constexpr uint64_t default_max_pixels = 32 << 20;

/// An image is decoded to 8 bits, resized, cropped around its centre, and normalised: (value * scale - mean)
/// / deviation. Sizes are at least 1.
struct image_input {
  std::string input;             ///< its name; empty: the model's only input
  std::vector<uint32_t> resize;  ///< empty: none; one: of the shorter side; two: height and width
  std::vector<uint32_t> crop;    ///< empty: none; two: height and width
  image_filter filter = image_filter::bilinear;
  image_channels channels = image_channels::rgb;
  image_layout layout = image_layout::nchw;
  double scale = default_image_scale;
  std::vector<double> mean;                  ///< by channel; empty: 0
  std::vector<double> deviation;             ///< by channel, not 0; empty: 1
  uint64_t max_pixels = default_max_pixels;  ///< of a file; more are refused before they are decoded

  TROUPE_MESSAGE(image_input, input, resize, crop, filter, channels, layout, scale, mean, deviation,
                 max_pixels)
  bool operator==(const image_input&) const = default;
};

}  // namespace troupe
