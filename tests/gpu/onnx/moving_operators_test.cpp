// Operators that only move elements, against their definitions.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <random>

#include "gpu/common/model_error.hpp"
#include "tests/gpu/onnx/graphs.hpp"

using namespace troupe;
using namespace troupe::onnx;

TEST_CASE("Transpose permutes by any order, and reverses the dimensions by default") {
  std::mt19937 random(38);
  shape order{0, 1, 2, 3};
  const auto x = random_floats(random, {2, 3, 4, 5});
  do {
    shape dims;
    for (const int64_t o : order) dims.push_back(x.dims[static_cast<size_t>(o)]);
    std::vector<float> expected;
    for (const auto& i : indices_of(dims)) {
      shape source(4);
      for (size_t d = 0; d < 4; ++d) source[static_cast<size_t>(order[d])] = i[d];
      expected.push_back(x.as<float>()[offset_of(x.dims, source)]);
    }
    const auto y = fold("Transpose", {x}, {{"perm", order}});
    CHECK(y.dims == dims);
    CHECK(values(y) == expected);
    if (order[0] == 0) CHECK(values(run("Transpose", {x}, {{"perm", order}})) == expected);
  } while (std::ranges::next_permutation(order).found);
  CHECK(int_values(fold("Transpose", {ints({2, 3}, {1, 2, 3, 4, 5, 6})})) ==
        std::vector<int64_t>{1, 4, 2, 5, 3, 6});
  CHECK_THROWS_AS(fold("Transpose", {x}, {{"perm", shape{0, 1, 2, 2}}}), model_error);
}

TEST_CASE("Gather picks slices along an axis, and negative indices count from the end") {
  std::mt19937 random(39);
  const auto x = random_floats(random, {3, 4, 5});
  for (const int64_t axis : {0, 1, 2, -1, -3}) {
    const auto a = static_cast<size_t>(axis < 0 ? axis + 3 : axis);
    const auto picks = ints({2, 2}, {0, -1, 2, -3});
    shape dims(x.dims.begin(), x.dims.begin() + static_cast<ptrdiff_t>(a));
    dims.insert(dims.end(), {2, 2});
    dims.insert(dims.end(), x.dims.begin() + static_cast<ptrdiff_t>(a) + 1, x.dims.end());
    std::vector<float> expected;
    for (const auto& i : indices_of(dims)) {
      shape source(i.begin(), i.begin() + static_cast<ptrdiff_t>(a));
      const int64_t pick = int_values(picks)[static_cast<size_t>(i[a] * 2 + i[a + 1])];
      source.push_back(pick < 0 ? pick + x.dims[a] : pick);
      source.insert(source.end(), i.begin() + static_cast<ptrdiff_t>(a) + 2, i.end());
      expected.push_back(x.as<float>()[offset_of(x.dims, source)]);
    }
    const auto y = fold("Gather", {x, picks}, {{"axis", axis}});
    CHECK(y.dims == dims);
    CHECK(values(y) == expected);
    if (a > 0) CHECK(values(run("Gather", {x, picks}, {{"axis", axis}})) == expected);
  }
  CHECK_THROWS_AS(fold("Gather", {x, ints({1}, {3})}), model_error);
  CHECK_THROWS_AS(fold("Gather", {x, ints({1}, {-4})}), model_error);
  CHECK_THROWS_AS(fold("Gather", {x, floats({1}, {0})}), model_error);
}

TEST_CASE("Concat joins along any axis") {
  std::mt19937 random(40);
  for (const int64_t axis : {0, 1, 2, -1}) {
    const auto a = static_cast<size_t>(axis < 0 ? axis + 3 : axis);
    std::vector<tensor> parts;
    shape dims{2, 3, 4};
    dims[a] = 0;
    for (const int64_t n : {1, 5, 2}) {
      shape part{2, 3, 4};
      dims[a] += part[a] = n;
      parts.push_back(random_floats(random, part));
    }
    std::vector<float> expected;
    for (auto i : indices_of(dims)) {
      size_t p = 0;
      for (; i[a] >= parts[p].dims[a]; ++p) i[a] -= parts[p].dims[a];
      expected.push_back(parts[p].as<float>()[offset_of(parts[p].dims, i)]);
    }
    const auto y = fold("Concat", parts, {{"axis", axis}});
    CHECK(y.dims == dims);
    CHECK(values(y) == expected);
    if (a > 0) CHECK(values(run("Concat", parts, {{"axis", axis}}, 3)) == expected);
  }
  CHECK_THROWS_AS(fold("Concat", {ints({1, 2}, {1, 2}), ints({1, 3}, {1, 2, 3})}, {{"axis", int64_t{0}}}),
                  model_error);
}

TEST_CASE("reshaping operators change the dimensions and keep the values") {
  std::mt19937 random(41);
  const auto x = random_floats(random, {2, 3, 1, 4});
  const auto reshaped = [&](const std::string& op, const std::vector<tensor>& in, const attributes& a = {},
                            int64_t opset = 17) {
    const auto y = fold(op, in, a, opset);
    CHECK(values(y) == values(x));
    return y.dims;
  };
  CHECK(reshaped("Reshape", {x, ints({2}, {6, -1})}) == shape{6, 4});
  CHECK(reshaped("Reshape", {x, ints({3}, {0, 0, -1})}) == shape{2, 3, 4});
  CHECK(reshaped("Flatten", {x}) == shape{2, 12});
  CHECK(reshaped("Flatten", {x}, {{"axis", int64_t{-2}}}) == shape{6, 4});
  CHECK(reshaped("Flatten", {x}, {{"axis", int64_t{4}}}) == shape{24, 1});
  CHECK(reshaped("Flatten", {x}, {{"axis", int64_t{0}}}) == shape{1, 24});
  CHECK(reshaped("Unsqueeze", {x, ints({2}, {0, -1})}) == shape{1, 2, 3, 1, 4, 1});
  CHECK(reshaped("Unsqueeze", {x}, {{"axes", shape{1}}}, 12) == shape{2, 1, 3, 1, 4});
  CHECK(reshaped("Squeeze", {x}) == shape{2, 3, 4});
  CHECK(reshaped("Squeeze", {x, ints({1}, {-2})}) == shape{2, 3, 4});
  CHECK(reshaped("Squeeze", {x}, {{"axes", shape{2}}}, 12) == shape{2, 3, 4});
  CHECK(run("Reshape", {x, ints({2}, {0, -1})}).dims == shape{2, 12});
  for (const auto& bad :
       {ints({1}, {7}), ints({2}, {-1, -1}), ints({2}, {-2, 12}), ints({5}, {2, 3, 1, 4, 0})}) {
    CHECK_THROWS_AS(fold("Reshape", {x, bad}), model_error);
  }
  CHECK_THROWS_AS(fold("Squeeze", {x, ints({1}, {0})}), model_error);
  CHECK_THROWS_AS(fold("Unsqueeze", {x, ints({2}, {0, 0})}), model_error);
}

TEST_CASE("Shape gives the dimensions, or those from start to end") {
  std::mt19937 random(42);
  const auto x = random_floats(random, {2, 3, 4});
  CHECK(int_values(fold("Shape", {x})) == std::vector<int64_t>{2, 3, 4});
  CHECK(int_values(fold("Shape", {x}, {{"start", int64_t{-2}}})) == std::vector<int64_t>{3, 4});
  CHECK(int_values(fold("Shape", {x}, {{"start", int64_t{1}}, {"end", int64_t{-1}}})) ==
        std::vector<int64_t>{3});
  CHECK(fold("Shape", {x}, {{"start", int64_t{2}}, {"end", int64_t{1}}}).dims == shape{0});
}

TEST_CASE("Where picks elements of any type, BOOL included") {
  const auto flags = [](std::array<std::byte, 4> v) { return make_tensor(data_type::boolean, {4}, v); };
  const std::byte no{0}, yes{1};
  const auto which = flags({yes, no, no, yes});
  CHECK(int_values(fold("Where", {which, ints({4}, {1, 2, 3, 4}), ints({}, {-1})})) ==
        std::vector<int64_t>{1, -1, -1, 4});
  const auto picked = fold("Where", {which, flags({yes, yes, no, no}), flags({no, yes, no, yes})});
  CHECK(picked.type == data_type::boolean);
  CHECK(std::ranges::equal(picked.as<std::byte>(), std::array{yes, yes, no, no}));
}
