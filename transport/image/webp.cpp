// WebP, by libwebp.
#include <webp/decode.h>

#include "transport/image/formats.hpp"

namespace troupe::formats {

image decode_webp(std::span<const std::byte> file, uint64_t max_pixels) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(file.data());
  WebPBitstreamFeatures header;
  switch (WebPGetFeatures(bytes, file.size(), &header)) {
    case VP8_STATUS_OK: break;
    case VP8_STATUS_NOT_ENOUGH_DATA: throw image_error("is cut short (WebP)");
    default: throw image_error("is no WebP that can be decoded");
  }
  const auto width = static_cast<uint32_t>(header.width), height = static_cast<uint32_t>(header.height);
  check_size("WebP", width, height, max_pixels);
  if (header.has_animation)
    throw image_error("is an animated WebP; send one frame, as a JPEG, PNG or WebP file");
  auto out = image::of_size(width, height, 3);
  const auto stride = static_cast<int>(out.row_bytes());
  if (WebPDecodeRGBInto(bytes, file.size(), out.pixels.get(), out.bytes(), stride) == nullptr)
    throw image_error("is cut short or corrupt (WebP)");
  return out;
}

}  // namespace troupe::formats
