#include "gpu/onnx/tensor.hpp"

#include <doctest/doctest.h>

#include "tests/gpu/onnx/graphs.hpp"

using namespace troupe;
using namespace troupe::onnx;

TEST_CASE("tensor: the element count of a shape is -1 if a dimension is negative or the shape too large") {
  CHECK(element_count(shape{}) == 1);
  CHECK(element_count(shape{3}) == 3);
  CHECK(element_count(shape{2, 3, 4}) == 24);
  CHECK(element_count(shape{2, 0, 4}) == 0);
  CHECK(element_count(shape{2, -1}) == -1);
  CHECK(element_count(shape{0, -1}) == -1);
  CHECK(element_count(shape(8, 1)) == 1);
  CHECK(element_count(shape(9, 1)) == -1);
  CHECK(element_count(shape{max_tensor_bytes / 8}) == max_tensor_bytes / 8);
  CHECK(element_count(shape{max_tensor_bytes / 8 + 1}) == -1);
  CHECK(element_count(shape{4, int64_t{1} << 62}) == -1);  // 2^64
}

TEST_CASE("tensor: strides are row-major") {
  CHECK(strides_of(shape{}) == shape{});
  CHECK(strides_of(shape{5}) == shape{1});
  CHECK(strides_of(shape{2, 3, 4}) == shape{12, 4, 1});
  CHECK(strides_of(shape{2, 0, 4}) == shape{0, 4, 1});
}

TEST_CASE("tensor: shapes are joined and printed") {
  CHECK(joined(shape{2, 3}, shape{4}) == shape{2, 3, 4});
  CHECK(joined(shape{}, shape{4}) == shape{4});
  CHECK(joined(shape{2}, shape{}) == shape{2});
  CHECK(to_string(shape{}) == "[]");
  CHECK(to_string(shape{2, -1}) == "[2, -1]");
}

TEST_CASE("tensor: make_tensor copies the bytes, and copies of the tensor share them") {
  std::vector<float> given{1, 2, 3, 4};
  const auto t = make_tensor(data_type::fp32, {2, 2}, std::as_bytes(std::span{given}));
  given[0] = 7;
  CHECK(values(t) == std::vector<float>{1, 2, 3, 4});
  CHECK(t.bytes() == 16);
  const auto copy = t;
  CHECK(copy.data == t.data);
  const auto none = make_tensor(data_type::fp32, {0, 2}, {});
  CHECK(none.bytes() == 0);
  CHECK(values(none).empty());
}

TEST_CASE("tensor: make_ints gives a vector of int64") {
  const auto t = make_ints({5, -6});
  CHECK(t.type == data_type::int64);
  CHECK(t.dims == shape{2});
  CHECK(int_values(t) == std::vector<int64_t>{5, -6});
  CHECK(make_ints({}).dims == shape{0});
}
