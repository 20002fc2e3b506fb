// The decoders of the formats. Private to transport/image.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "transport/image/image.hpp"

namespace troupe::formats {

image decode_jpeg(std::span<const std::byte> file, uint64_t max_pixels);
image decode_png(std::span<const std::byte> file, uint64_t max_pixels);
image decode_webp(std::span<const std::byte> file, uint64_t max_pixels);

/// Throws image_error. `format` is for its message.
void check_size(const char* format, uint64_t width, uint64_t height, uint64_t max_pixels);

}  // namespace troupe::formats
