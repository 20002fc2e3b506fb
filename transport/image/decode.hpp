// Decoder of JPEG, PNG and WebP files, with the values of Pillow's Image.open(file).convert("RGB"): palettes
// are resolved, alpha is dropped, 16 bits are cut to the upper 8, and gamma, colour profiles and the
// orientation of EXIF are ignored. Animations and 16-bit greyscale are refused.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "transport/image/image.hpp"

namespace troupe {

inline constexpr uint32_t max_image_side = 65535;

/// Whether it begins like a file of one of these formats.
bool is_image_file(std::string_view file);

/// Greyscale files have one channel, others three. Takes memory only for files of at most `max_pixels`
/// pixels and `max_image_side` pixels a side: up to four bytes per pixel for the result, and eight more while
/// it decodes. Throws image_error for files that it refuses, and for those that are cut
/// short or corrupt.
image decode_image(std::span<const std::byte> file, uint64_t max_pixels);

/// One channel, as Pillow's convert("L"): ITU-R 601 luma.
void to_luminance(image& of);

}  // namespace troupe
