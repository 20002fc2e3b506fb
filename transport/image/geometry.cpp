#include "transport/image/geometry.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe {
namespace {

constexpr uint64_t max_resized_side = 1 << 24;

/// Of the longer side, for a new size of the shorter one.
uint64_t scaled(uint32_t longer, uint32_t shorter, uint32_t new_shorter) {
  const auto product = static_cast<double>(uint64_t{new_shorter} * longer);
  return static_cast<uint64_t>(product / shorter);
}

/// Half of what a crop leaves; halves are rounded to even numbers.
uint64_t margin(uint64_t size, uint32_t crop) {
  const auto rest = size - crop;
  return rest / 2 + (rest % 2 & rest / 2 % 2);
}

}  // namespace

image_size final_size(const image_input& input) {
  const auto& both = input.crop.empty() ? input.resize : input.crop;
  return {both[0], both[1]};
}

image_window window_of(const image_input& input, uint32_t width, uint32_t height) {
  image_window w{.width = width, .height = height};
  if (input.resize.size() == 2) {
    w.height = input.resize[0];
    w.width = input.resize[1];
  } else if (input.resize.size() == 1) {
    const auto shorter = input.resize[0];
    w.width = width <= height ? shorter : scaled(width, height, shorter);
    w.height = width <= height ? scaled(height, width, shorter) : shorter;
  }
  if (std::max(w.width, w.height) > max_resized_side)
    throw image_error(
        fmt::format("has {} x {} pixels, too long and narrow for preprocess.resize", width, height));
  const auto size = final_size(input);
  if (w.width < size.width || w.height < size.height)
    throw image_error(
        fmt::format("has {} x {} pixels (width x height){}, less than preprocess.crop = [{}, {}]", w.width,
                    w.height, input.resize.empty() ? "" : " after resize", size.height, size.width));
  w.left = margin(w.width, size.width);
  w.top = margin(w.height, size.height);
  w.window_width = size.width;
  w.window_height = size.height;
  return w;
}

}  // namespace troupe
