#include "transport/image/resample.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "tests/transport/image/image_files.hpp"
#include "transport/image/decode.hpp"

using namespace troupe;

namespace {

constexpr std::array<std::pair<uint32_t, uint32_t>, 6> resized_sizes{
    {{12, 17}, {40, 33}, {90, 7}, {3, 70}, {45, 10}, {19, 31}}};
constexpr std::array<image_filter, 3> all_filters{image_filter::bilinear, image_filter::bicubic,
                                                  image_filter::nearest};

image_window whole(uint32_t width, uint32_t height) { return {width, height, 0, 0, width, height}; }

image base_image() { return decode_image(bytes_of(image_bytes("base.png")), 1 << 20); }

std::string pixels_of(const image& x) { return {x.pixels.get(), x.pixels.get() + x.bytes()}; }

}  // namespace

TEST_CASE("resized images are Pillow's") {
  const auto from = base_image();
  for (const auto filter : all_filters)
    for (const auto& [width, height] : resized_sizes) {
      const auto name = fmt::format("resized/{}_{}x{}", to_string(filter), width, height);
      CAPTURE(name);
      const auto expected = image_bytes(name);
      REQUIRE(expected.size() == size_t{width} * height * 3);
      CHECK(pixels_of(resample(from, whole(width, height), filter)) == expected);
    }
}

TEST_CASE("an image of the same size stays as it is") {
  const auto from = base_image();
  for (const auto filter : all_filters)
    CHECK(pixels_of(resample(from, whole(from.width, from.height), filter)) == pixels_of(from));
}

TEST_CASE("a window has the pixels of the whole resized image") {
  const auto from = base_image();
  for (const auto filter : all_filters)
    for (const auto& [width, height] : {std::pair{20U, 50U}, {100U, 9U}}) {
      const auto all = resample(from, whole(width, height), filter);
      const auto part = resample(from, {width, height, 3, 2, 11, 6}, filter);
      REQUIRE(part.width == 11);
      REQUIRE(part.height == 6);
      for (uint32_t y = 0; y < 6; ++y) CHECK(std::equal(part.row(y), part.row(y) + 33, all.row(y + 2) + 9));
    }
}

TEST_CASE("one channel is resampled as each of three equal ones") {
  auto grey = base_image();
  to_luminance(grey);
  auto three = image::of_size(grey.width, grey.height, 3);
  for (size_t i = 0; i < grey.bytes(); ++i) std::fill_n(three.pixels.get() + 3 * i, 3, grey.pixels[i]);
  for (const auto filter : all_filters) {
    const auto one = resample(grey, whole(17, 60), filter), all = resample(three, whole(17, 60), filter);
    CHECK(one.channels == 1);
    for (size_t i = 0; i < one.bytes(); ++i) CHECK(one.pixels[i] == all.pixels[3 * i + 1]);
  }
}

TEST_CASE("one pixel fills, and all pixels count for one") {
  auto dot = image::of_size(1, 1, 1);
  dot.pixels[0] = 77;
  for (const auto filter : all_filters)
    CHECK(pixels_of(resample(dot, whole(9, 5), filter)) == std::string(45, 77));
  auto line = image::of_size(1000, 1, 1);
  for (size_t i = 0; i < 1000; ++i) line.pixels[i] = i % 2 == 0 ? 100 : 110;
  CHECK(resample(line, whole(1, 1), image_filter::bilinear).pixels[0] == 105);
  CHECK(resample(line, whole(1, 1), image_filter::bicubic).pixels[0] == 105);
}
