// The sizes of resized and cropped images, as torchvision's Resize and CenterCrop compute them.
#pragma once
#include <cstdint>

#include "messages/tensor/image_input.hpp"
#include "transport/image/resample.hpp"

namespace troupe {

/// Height and width of all images of an input, which has a crop or both sizes of a resize.
struct image_size {
  uint32_t height = 0, width = 0;
};
image_size final_size(const image_input& input);

/// The window for an image of that size. Throws image_error if it is smaller than the crop.
image_window window_of(const image_input& input, uint32_t width, uint32_t height);

}  // namespace troupe
