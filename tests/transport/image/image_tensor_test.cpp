#include "transport/image/image_tensor.hpp"

#include <doctest/doctest.h>

#include <cstring>

#include "tests/transport/image/image_files.hpp"

using namespace troupe;

namespace {

/// base.png as it is.
image_input as_it_is() {
  image_input x;
  x.resize = {31, 45};
  return x;
}

template <class T>
std::vector<T> tensor_of(const image_input& x, data_type type, const std::string& name = "base.png") {
  const image_tensor tensor(x, type);
  std::vector<T> out(tensor.row_bytes() / sizeof(T));
  tensor.write(bytes_of(image_bytes(name)), std::as_writable_bytes(std::span(out)));
  return out;
}

model_signature one_image(data_type type, std::vector<int64_t> shape) {
  return {{{"image", type, std::move(shape)}}, {}};
}

}  // namespace

TEST_CASE("layout and channels place the values") {
  const auto pixels = image_bytes("base.png.rgb");
  const auto at = [&](size_t pixel, size_t c) { return static_cast<uint8_t>(pixels[3 * pixel + c]); };
  constexpr size_t count = 45 * 31;
  auto x = as_it_is();
  const auto planes = tensor_of<uint8_t>(x, data_type::uint8);
  x.channels = image_channels::bgr;
  const auto reversed = tensor_of<uint8_t>(x, data_type::uint8);
  x.layout = image_layout::nhwc;
  const auto pixels_reversed = tensor_of<uint8_t>(x, data_type::uint8);
  x.channels = image_channels::l;
  const auto luminance = tensor_of<uint8_t>(x, data_type::uint8);
  REQUIRE(planes.size() == 3 * count);
  REQUIRE(luminance.size() == count);
  for (size_t i = 0; i < count; ++i) {
    for (size_t c = 0; c < 3; ++c) {
      CHECK(planes[c * count + i] == at(i, c));
      CHECK(reversed[c * count + i] == at(i, 2 - c));
      CHECK(pixels_reversed[3 * i + c] == at(i, 2 - c));
    }
    CHECK(luminance[i] == static_cast<uint8_t>(image_bytes("luminance")[i]));
  }
}

TEST_CASE("values are scaled, and normalised by the mean and deviation of their channel") {
  const auto pixels = image_bytes("base.png.rgb");
  constexpr size_t count = 45 * 31;
  auto x = as_it_is();
  x.channels = image_channels::bgr;
  const auto scaled = tensor_of<float>(x, data_type::fp32);
  x.scale = 1.0 / 128;
  x.mean = {0.5, 1, 2};
  x.deviation = {0.5, 0.25, 4};
  const auto all = tensor_of<float>(x, data_type::fp32);
  for (size_t i = 0; i < count; ++i)
    for (size_t c = 0; c < 3; ++c) {
      const auto v = static_cast<uint8_t>(pixels[3 * i + 2 - c]);
      CHECK(scaled[c * count + i] == static_cast<float>(v / 255.0));
      CHECK(all[c * count + i] == static_cast<float>((v / 128.0 - x.mean[c]) / x.deviation[c]));
    }
}

TEST_CASE("a greyscale image has its values in all channels") {
  const auto v = tensor_of<uint8_t>(as_it_is(), data_type::uint8, "grey.png");
  constexpr size_t count = 45 * 31;
  for (size_t i = 0; i < count; ++i) {
    CHECK(v[i] == v[count + i]);
    CHECK(v[i] == v[2 * count + i]);
  }
}

TEST_CASE("a tensor may lie at any address") {
  const image_tensor tensor(as_it_is(), data_type::fp32);
  std::vector<std::byte> room(tensor.row_bytes() + 1), other(tensor.row_bytes());
  tensor.write(bytes_of(image_bytes("base.png")), std::span(room).subspan(1));
  tensor.write(bytes_of(image_bytes("base.png")), other);
  CHECK(std::memcmp(room.data() + 1, other.data(), other.size()) == 0);
}

TEST_CASE("an image fits an input of its shape and type") {
  image_input x;
  x.crop = {20, 30};
  CHECK(image_input_problem(x, one_image(data_type::fp32, {3, 20, 30})) == "");
  CHECK(image_input_problem(x, one_image(data_type::uint8, {3, 20, 30})) == "");
  CHECK(image_input_problem(x, one_image(data_type::fp32, {3, 30, 20})) ==
        "preprocess gives rows of shape [3,20,30], and input 'image' has the shape [3,30,20]; change crop, "
        "resize, "
        "channels or layout");
  CHECK(image_input_problem(x, one_image(data_type::fp16, {3, 20, 30})) ==
        "input 'image' is FP16, and preprocess gives FP32 or UINT8");
  x.layout = image_layout::nhwc;
  CHECK(image_input_problem(x, one_image(data_type::fp32, {20, 30, 3})) == "");
  x.channels = image_channels::l;
  CHECK(image_input_problem(x, one_image(data_type::fp32, {20, 30, 1})) == "");
  x.scale = 1;
  CHECK(image_input_problem(x, one_image(data_type::uint8, {20, 30, 1})) == "");
  x.mean = {0.5};
  CHECK(image_input_problem(x, one_image(data_type::uint8, {20, 30, 1})) ==
        "input 'image' is UINT8, which preprocess gives without scale, mean and std; remove them");
}

TEST_CASE("the input is the only one, or the named one") {
  auto signature = one_image(data_type::fp32, {3, 20, 30});
  image_input x;
  x.crop = {20, 30};
  CHECK(index_of(x, signature) == 0);
  signature.inputs.insert(signature.inputs.begin(), {"size", data_type::int64, {2}});
  CHECK_FALSE(index_of(x, signature));
  CHECK(image_input_problem(x, signature) ==
        "preprocess needs input = NAME: the model takes 'size', 'image'");
  x.input = "image";
  CHECK(index_of(x, signature) == 1);
  CHECK(image_input_problem(x, signature) == "");
  x.input = "picture";
  CHECK(image_input_problem(x, signature) ==
        "preprocess.input = 'picture' is no input: the model takes 'size', 'image'");
}
