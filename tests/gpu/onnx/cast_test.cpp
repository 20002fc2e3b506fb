#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <limits>

#include "gpu/common/model_error.hpp"
#include "tests/gpu/onnx/graphs.hpp"

using namespace troupe;
using namespace troupe::onnx;

TEST_CASE("Cast to an integer type truncates and saturates, and NaN becomes 0") {
  const auto to = [](int64_t type) { return attributes{{"to", type}}; };
  const auto x = floats({5}, {1.9F, -1.9F, 1e30F, -1e30F, std::nanf("")});
  CHECK(int_values(fold("Cast", {x}, to(7))) == std::vector<int64_t>{1, -1,
                                                                     std::numeric_limits<int64_t>::max(),
                                                                     std::numeric_limits<int64_t>::min(), 0});
  CHECK(values(fold("Cast", {ints({3}, {1, -2, 3})}, to(1))) == std::vector<float>{1, -2, 3});
  const auto flags = fold("Cast", {ints({3}, {0, -2, 3})}, to(9));
  CHECK(flags.type == data_type::boolean);
  CHECK(int_values(fold("Cast", {flags}, to(7))) == std::vector<int64_t>{0, 1, 1});
  CHECK(values(run("Cast", {ints({2, 1}, {5, 6})}, to(1))) == std::vector<float>{5, 6});
  CHECK_THROWS_AS(fold("Cast", {x}, to(8)), model_error);
}

TEST_CASE("Cast between any two types keeps 0 and 1") {
  const std::vector<int64_t> numbers{2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 16, 1};  // of all types but STRING
  for (const int64_t first : numbers) {
    for (const int64_t second : numbers) {
      CAPTURE(first);
      CAPTURE(second);
      auto t = ints({4}, {0, 1, 1, 0});
      for (const int64_t type : {first, second, int64_t{7}}) t = fold("Cast", {t}, {{"to", type}});
      CHECK(int_values(t) == std::vector<int64_t>{0, 1, 1, 0});
    }
  }
}

TEST_CASE("Cast saturates floats and wraps integers outside of an integer type") {
  const auto through = [](const tensor& x, std::initializer_list<int64_t> types) {
    auto t = x;
    for (const int64_t type : types) t = fold("Cast", {t}, {{"to", type}});
    return int_values(t);
  };
  const auto x = floats({4}, {300.7F, -300.7F, 70000, -70000});
  const std::initializer_list<int64_t> by_uint8{2, 7}, by_int8{3, 7}, by_uint16{4, 7}, by_int16{5, 7};
  CHECK(through(x, by_uint8) == std::vector<int64_t>{255, 0, 255, 0});
  CHECK(through(x, by_int8) == std::vector<int64_t>{127, -128, 127, -128});
  CHECK(through(x, by_uint16) == std::vector<int64_t>{300, 0, 65535, 0});
  CHECK(through(x, by_int16) == std::vector<int64_t>{300, -300, 32767, -32768});
  CHECK(through(ints({3}, {300, -1, 65537}), by_uint8) == std::vector<int64_t>{44, 255, 1});  // lowest bits
  CHECK(through(x, {10, 5, 7}) == std::vector<int64_t>{300, -300, 32767, -32768});  // FP16: infinities
  const auto any =
      make_tensor(data_type::boolean, {3}, std::array{std::byte{0}, std::byte{1}, std::byte{60}});
  CHECK(through(any, {7}) == std::vector<int64_t>{0, 1, 1});  // as a client may send it
}
