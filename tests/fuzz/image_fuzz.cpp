// Any bytes decode to an image within the bounds, or are refused with a message; what is decoded can be made
// into tensors of any size.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>
#include <vector>

#include "transport/image/decode.hpp"
#include "transport/image/image_tensor.hpp"

using namespace troupe;

namespace {

constexpr uint64_t max_pixels = 1 << 16;

void require(bool good) {
  if (!good) std::abort();
}

image_input input_of(uint8_t choice) {
  image_input x;
  x.filter = static_cast<image_filter>(choice % 3);
  x.channels = static_cast<image_channels>(choice / 3 % 3);
  x.resize = choice % 2 == 0 ? std::vector<uint32_t>{9} : std::vector<uint32_t>{12, 7};
  x.crop = {8, 5};
  x.max_pixels = max_pixels;
  return x;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto file = std::as_bytes(std::span{data, size});
  try {
    auto decoded = decode_image(file, max_pixels);
    require(decoded.width > 0 && decoded.height > 0 && (decoded.channels == 1 || decoded.channels == 3));
    require(uint64_t{decoded.width} * decoded.height <= max_pixels);
    require(is_image_file({reinterpret_cast<const char*>(data), size}));
    uint32_t sum = 0;
    for (size_t i = 0; i < decoded.bytes(); ++i) sum += decoded.pixels[i];
    const auto input = input_of(static_cast<uint8_t>(sum));
    const image_tensor tensor(input, data_type::fp32);
    std::vector<std::byte> row(tensor.row_bytes());
    tensor.write(file, row);
  } catch (const image_error& why) {
    require(!std::string_view(why.what()).empty());
  }
  return 0;
}
