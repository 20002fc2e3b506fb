#include "gpu/onnx/cuda/merged_walk.hpp"

#include <doctest/doctest.h>

using namespace troupe;
using namespace troupe::cuda;

TEST_CASE("merged walk: dense tensors are one dimension") {
  const auto m = merge_dimensions({2, 3, 4}, {{12, 4, 1}, {12, 4, 1}});
  CHECK(m.walk.dims == 1);
  CHECK(m.last_extent() == 24);
  CHECK(m.last_step(0) == 1);
}

TEST_CASE("merged walk: a dimension that one tensor broadcasts is not merged") {
  const auto m = merge_dimensions({2, 3, 4, 5}, {{60, 20, 5, 1}, {0, 20, 5, 1}, {0, 1, 0, 0}});
  REQUIRE(m.walk.dims == 3);  // 2, 3, 4 · 5
  CHECK(m.walk.extent[0] == 2);
  CHECK(m.walk.extent[1] == 3);
  CHECK(m.last_extent() == 20);
  CHECK(m.steps[2].step[1] == 1);
  CHECK(m.last_step(2) == 0);
}

TEST_CASE("merged walk: dimensions of one element are left out, for any strides") {
  const auto m = merge_dimensions({1, 4, 1, 3}, {{99, 3, 77, 1}});
  CHECK(m.walk.dims == 1);
  CHECK(m.last_extent() == 12);
  CHECK(merge_dimensions({1, 1}, {{5, 7}}).last_extent() == 1);
  CHECK(merge_dimensions({}, {{}}).last_extent() == 1);
}

TEST_CASE("merged walk: channels-last strides give the order in memory, and the order gives the strides") {
  const onnx::shape dims{2, 3, 4, 5};
  const auto strides = channels_last_strides(dims);
  CHECK(strides == onnx::shape{60, 1, 15, 3});
  const auto order = memory_order(dims, strides);
  CHECK(order == std::vector<size_t>{0, 2, 3, 1});
  CHECK(dense_strides(dims, order) == strides);
  CHECK(channels_last_strides({4, 5}) == onnx::shape{5, 1});
}

TEST_CASE("merged walk: if channels first and last coincide, the order is that of the dimensions") {
  CHECK(memory_order({2, 3, 1, 1}, channels_last_strides({2, 3, 1, 1})) == std::vector<size_t>{0, 1, 2, 3});
  CHECK(memory_order({2, 1, 4, 5}, channels_last_strides({2, 1, 4, 5})) == std::vector<size_t>{0, 1, 2, 3});
}
