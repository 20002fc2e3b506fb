#include "transport/image/geometry.hpp"

#include <doctest/doctest.h>

#include "transport/image/image.hpp"

using namespace troupe;

namespace {

image_input sized(std::vector<uint32_t> resize, std::vector<uint32_t> crop) {
  image_input x;
  x.resize = std::move(resize);
  x.crop = std::move(crop);
  return x;
}

std::string window_problem(const image_input& x, uint32_t width, uint32_t height) {
  try {
    window_of(x, width, height);
    return "";
  } catch (const image_error& e) {
    return e.what();
  }
}

}  // namespace

TEST_CASE("two sizes are the result's, whatever the image's") {
  const auto x = sized({20, 30}, {});
  CHECK(final_size(x).height == 20);
  CHECK(final_size(x).width == 30);
  CHECK(window_of(x, 7, 1000) == image_window{30, 20, 0, 0, 30, 20});
}

TEST_CASE("one size is the shorter side's, and the longer one is cut down to a whole number") {
  const auto x = sized({256}, {224, 224});
  CHECK(window_of(x, 640, 427) == image_window{383, 256, 80, 16, 224, 224});  // 383.7
  CHECK(window_of(x, 427, 640) == image_window{256, 383, 16, 80, 224, 224});
  CHECK(window_of(x, 500, 500) == image_window{256, 256, 16, 16, 224, 224});
  CHECK(window_of(x, 256, 300) == image_window{256, 300, 16, 38, 224, 224});
}

TEST_CASE("an odd margin is rounded to an even half") {
  const auto at = [](uint32_t size) { return window_of(sized({}, {10, 10}), size, size).left; };
  CHECK(at(10) == 0);
  CHECK(at(11) == 0);  // 0.5
  CHECK(at(12) == 1);
  CHECK(at(13) == 2);  // 1.5
  CHECK(at(15) == 2);  // 2.5
  CHECK(at(17) == 4);  // 3.5
}

TEST_CASE("an image that is smaller than the crop is refused") {
  const auto x = sized({}, {10, 20});
  CHECK(window_problem(x, 20, 10) == "");
  CHECK(window_problem(x, 19, 10) ==
        "has 19 x 10 pixels (width x height), less than preprocess.crop = [10, 20]");
  CHECK(window_problem(x, 20, 9) ==
        "has 20 x 9 pixels (width x height), less than preprocess.crop = [10, 20]");
  CHECK(window_problem(sized({12}, {10, 20}), 100, 90) ==
        "has 13 x 12 pixels (width x height) after resize, less than preprocess.crop = [10, 20]");
}

TEST_CASE("a shorter side of one pixel does not make an endless longer one") {
  CHECK(window_problem(sized({224}, {224, 224}), 65535, 1) == "");
  CHECK(window_problem(sized({16384}, {224, 224}), 65535, 1) ==
        "has 65535 x 1 pixels, too long and narrow for preprocess.resize");
}
