#include "transport/image/decode.hpp"

#include <fmt/format.h>

#include "transport/image/formats.hpp"

namespace troupe {
namespace {

enum class image_format { none, jpeg, png, webp };

image_format format_of(std::string_view file) {
  using namespace std::string_view_literals;
  if (file.starts_with("\xff\xd8\xff"sv)) return image_format::jpeg;
  if (file.starts_with("\x89PNG\r\n\x1a\n"sv)) return image_format::png;
  if (file.starts_with("RIFF"sv) && file.substr(0, 12).ends_with("WEBP"sv)) return image_format::webp;
  return image_format::none;
}

}  // namespace

bool is_image_file(std::string_view file) { return format_of(file) != image_format::none; }

image decode_image(std::span<const std::byte> file, uint64_t max_pixels) {
  switch (format_of({reinterpret_cast<const char*>(file.data()), file.size()})) {
    case image_format::jpeg: return formats::decode_jpeg(file, max_pixels);
    case image_format::png: return formats::decode_png(file, max_pixels);
    case image_format::webp: return formats::decode_webp(file, max_pixels);
    case image_format::none: break;
  }
  throw image_error(file.empty() ? "is empty; it must be a JPEG, PNG or WebP file"
                                 : "does not begin like a JPEG, PNG or WebP file");
}

void to_luminance(image& of) {
  if (of.channels == 1) return;
  auto* out = of.pixels.get();
  const auto* in = out;
  for (size_t i = 0; i < size_t{of.width} * of.height; ++i, in += 3)
    // in 1/65536, rounded: 0.299, 0.587, 0.114
    out[i] = static_cast<uint8_t>((in[0] * 19595U + in[1] * 38470U + in[2] * 7471U + 0x8000U) >> 16);
  of.channels = 1;
}

void formats::check_size(const char* format, uint64_t width, uint64_t height, uint64_t max_pixels) {
  if (width == 0 || height == 0)
    throw image_error(fmt::format("is a {} of {} x {} pixels", format, width, height));
  if (width > max_image_side || height > max_image_side)
    throw image_error(fmt::format("is a {} of {} x {} pixels; at most {} a side are decoded", format, width,
                                  height, max_image_side));
  if (width * height > max_pixels)
    throw image_error(fmt::format("is a {} of {} x {} = {} pixels, more than preprocess.max_pixels = {}",
                                  format, width, height, width * height, max_pixels));
}

}  // namespace troupe
