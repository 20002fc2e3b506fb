// The other operators against their definitions.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "gpu/common/model_error.hpp"
#include "gpu/onnx/operators.hpp"
#include "tests/gpu/onnx/graphs.hpp"

using namespace troupe;
using namespace troupe::onnx;

namespace {

/// The broadcast shape of two operands, and the offset in one of them for an index of it.
shape broadcast_dims(const shape& a, const shape& b) {
  shape out(std::max(a.size(), b.size()), 1);
  for (const auto* s : {&a, &b}) {
    for (size_t i = 0; i < s->size(); ++i) {
      auto& d = out[out.size() - s->size() + i];
      d = std::max(d, (*s)[i]);
    }
  }
  return out;
}

size_t broadcast_offset(const shape& dims, const shape& index) {
  shape own(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) own[i] = dims[i] == 1 ? 0 : index[index.size() - dims.size() + i];
  return offset_of(dims, own);
}

double apply(const std::string& op, double x, double y) {
  if (op == "Add") return x + y;
  if (op == "Sub") return x - y;
  if (op == "Mul") return x * y;
  if (op == "Div") return x / y;
  return std::pow(x, y);
}

tensor unary(const std::string& op, const tensor& x) { return run(op, {x}); }

}  // namespace

TEST_CASE("the table of operators is complete, sorted and finds its entries") {
  for (const auto& entry : operators()) {
    CHECK(find_operator(entry.name) == &entry);
    CHECK(static_cast<bool>(entry.build));
    CHECK(entry.min_inputs <= entry.max_inputs);
  }
  CHECK(find_operator("Loop") == nullptr);
  CHECK(find_operator("") == nullptr);
  CHECK(find_operator("zzz") == nullptr);
}

TEST_CASE("arithmetic broadcasts like numpy") {
  std::mt19937 random(31);
  const std::vector<std::pair<shape, shape>> shapes{
      {{2, 3, 4}, {2, 3, 4}}, {{2, 3, 4}, {4}},       {{2, 3, 4}, {}},
      {{2, 3, 4}, {3, 1}},    {{2, 1, 4}, {1, 3, 1}}, {{5}, {2, 1}},
      {{1}, {1, 1}},          {{2, 3, 1}, {1, 1, 4}}, {{}, {}}};
  for (const std::string op : {"Add", "Sub", "Mul", "Div", "Pow"}) {
    for (const auto& [left, right] : shapes) {
      for (const bool swap : {false, true}) {
        CAPTURE(op);
        const auto a = random_floats(random, swap ? right : left, 0.5F, 2),
                   b = random_floats(random, swap ? left : right, 0.5F, 2);
        const auto dims = broadcast_dims(a.dims, b.dims);
        std::vector<float> expected;
        for (const auto& i : indices_of(dims)) {
          expected.push_back(static_cast<float>(apply(op, double{a.as<float>()[broadcast_offset(a.dims, i)]},
                                                      double{b.as<float>()[broadcast_offset(b.dims, i)]})));
        }
        const auto y = fold(op, {a, b});
        CHECK(y.dims == dims);
        CHECK(difference(values(y), expected) < 1e-6);
        if (a.dims.empty() || dims[0] != a.dims[0] || dims.size() != a.dims.size()) continue;
        const bool both_lead = b.dims.size() == a.dims.size() && b.dims[0] == a.dims[0];
        CHECK(difference(values(run(op, {a, b}, {}, both_lead ? 2 : 1)), expected) < 1e-6);
      }
    }
  }
}

TEST_CASE("integer arithmetic wraps around, and a division by zero is an error") {
  const auto top = std::numeric_limits<int64_t>::max(), bottom = std::numeric_limits<int64_t>::min();
  CHECK(int_values(fold("Add", {ints({2}, {top, -7}), ints({}, {1})})) == std::vector<int64_t>{bottom, -6});
  CHECK(int_values(fold("Mul", {ints({2}, {top, -7}), ints({}, {2})})) == std::vector<int64_t>{-2, -14});
  CHECK(int_values(fold("Sub", {ints({1}, {bottom}), ints({1}, {1})})) == std::vector<int64_t>{top});
  CHECK(int_values(fold("Div", {ints({3}, {7, -7, 9}), ints({}, {2})})) == std::vector<int64_t>{3, -3, 4});
  CHECK(int_values(fold("Div", {ints({1}, {bottom}), ints({}, {-1})})) == std::vector<int64_t>{bottom});
  CHECK(int_values(fold("Pow", {ints({2}, {3, -2}), ints({}, {3})})) == std::vector<int64_t>{27, -8});
  CHECK_THROWS_AS(fold("Div", {ints({1}, {5}), ints({1}, {0})}), model_error);
  CHECK_THROWS_AS(fold("Pow", {ints({1}, {10}), ints({1}, {40})}), model_error);
}

TEST_CASE("operands of incompatible shapes or different types are refused") {
  std::mt19937 random(32);
  CHECK_THROWS_AS(fold("Add", {random_floats(random, {2, 3}), random_floats(random, {2})}), model_error);
  CHECK_THROWS_AS(fold("Add", {random_floats(random, {2}), ints({2}, {1, 2})}), model_error);
}

TEST_CASE("elementwise functions equal their definitions") {
  std::mt19937 random(33);
  const auto x = random_floats(random, {4, 77}, -5, 5), positive = random_floats(random, {4, 77}, 0, 9);
  const auto expect = [](const tensor& in, auto f) {
    std::vector<float> out;
    for (const float v : in.as<float>()) out.push_back(static_cast<float>(f(double{v})));
    return out;
  };
  CHECK(values(unary("Relu", x)) == expect(x, [](double v) { return std::max(v, 0.0); }));
  CHECK(difference(values(unary("Tanh", x)), expect(x, [](double v) { return std::tanh(v); })) < 1e-6);
  CHECK(difference(values(unary("Sigmoid", x)), expect(x, [](double v) { return 1 / (1 + std::exp(-v)); })) <
        1e-6);
  CHECK(difference(values(unary("Exp", x)), expect(x, [](double v) { return std::exp(v); })) < 1e-6);
  CHECK(difference(values(unary("Sqrt", positive)), expect(positive, [](double v) { return std::sqrt(v); })) <
        1e-6);
  CHECK(difference(values(unary("Erf", x)), expect(x, [](double v) { return std::erf(v); })) < 1e-6);
  CHECK(values(unary("Identity", x)) == values(x));
}

TEST_CASE("Clip has both limits, either or none") {
  std::mt19937 random(34);
  const auto x = random_floats(random, {3, 9}, -5, 5);
  const auto low = floats({}, {-1}), high = floats({1}, {2});
  const auto clipped = [&](float min, float max) {
    auto v = values(x);
    for (auto& f : v) f = std::clamp(f, min, max);
    return v;
  };
  CHECK(values(run("Clip", {x, low, high})) == clipped(-1, 2));
  CHECK(values(run("Clip", {x, low})) == clipped(-1, 100));
  CHECK(values(run("Clip", {x})) == values(x));
  CHECK(values(run("Clip", {x, high, low})) == clipped(-1, -1));  // the upper limit wins
  CHECK_THROWS_AS(run("Clip", {x, x}, {}, 2), model_error);       // limits that change with the input
}

TEST_CASE("Softmax normalises along its axis, before opset 13 over all dimensions from it on") {
  std::mt19937 random(35);
  const auto x = random_floats(random, {2, 3, 4}, -8, 8);
  const auto reference = [&](auto group_of) {
    std::vector<double> sums(24, 0);
    const auto all = indices_of(x.dims);
    for (size_t i = 0; i < 24; ++i) sums[group_of(all[i])] += std::exp(double{values(x)[i]});
    std::vector<float> out;
    for (size_t i = 0; i < 24; ++i) {
      out.push_back(static_cast<float>(std::exp(double{values(x)[i]}) / sums[group_of(all[i])]));
    }
    return out;
  };
  const auto last = reference([](const shape& i) { return static_cast<size_t>(i[0] * 3 + i[1]); });
  const auto middle = reference([](const shape& i) { return static_cast<size_t>(i[0] * 4 + i[2]); });
  const auto both = reference([](const shape& i) { return static_cast<size_t>(i[0]); });
  CHECK(difference(values(run("Softmax", {x})), last) < 1e-6);
  CHECK(difference(values(run("Softmax", {x}, {{"axis", int64_t{2}}})), last) < 1e-6);
  CHECK(difference(values(run("Softmax", {x}, {{"axis", int64_t{-2}}})), middle) < 1e-6);
  CHECK(difference(values(run("Softmax", {x}, {}, 1, 12)), both) < 1e-6);
  CHECK_THROWS_AS(run("Softmax", {x}, {{"axis", int64_t{3}}}), model_error);
}

TEST_CASE("LayerNormalization over the last dimensions, with and without a shift") {
  std::mt19937 random(36);
  const auto x = random_floats(random, {3, 4, 5}, -3, 9);
  for (const int64_t axis : {int64_t{-1}, int64_t{1}, int64_t{2}, int64_t{-2}}) {
    const bool two = axis == 1 || axis == -2;
    const size_t n = two ? 20 : 5;
    const shape dims = two ? shape{4, 5} : shape{5};
    const auto scale = random_floats(random, dims), shift = random_floats(random, dims);
    for (const bool shifted : {false, true}) {
      std::vector<float> expected;
      for (size_t row = 0; row < 60 / n; ++row) {
        double mean = 0, variance = 0;
        for (size_t i = 0; i < n; ++i) mean += double{values(x)[row * n + i]} / static_cast<double>(n);
        for (size_t i = 0; i < n; ++i)
          variance += std::pow(double{values(x)[row * n + i]} - mean, 2) / static_cast<double>(n);
        for (size_t i = 0; i < n; ++i) {
          const double y = (double{values(x)[row * n + i]} - mean) / std::sqrt(variance + 1e-3);
          expected.push_back(
              static_cast<float>(y * double{values(scale)[i]} + (shifted ? double{values(shift)[i]} : 0)));
        }
      }
      std::vector<tensor> in{x, scale};
      if (shifted) in.push_back(shift);
      const auto y = run("LayerNormalization", in, {{"axis", axis}, {"epsilon", 1e-3F}});
      CHECK(difference(values(y), expected) < 1e-5);
    }
  }
  CHECK_THROWS_AS(run("LayerNormalization", {x, random_floats(random, {4})}), model_error);
}

TEST_CASE("ReduceMean over any axes, kept or not") {
  std::mt19937 random(37);
  const auto x = random_floats(random, {2, 3, 4, 5});
  for (const shape& axes : {shape{2, 3}, shape{-1}, shape{1}, shape{1, 3}, shape{-1, -2, -3}, shape{2}}) {
    for (const int64_t keep : {0, 1}) {
      CAPTURE(to_string(axes));
      std::vector<bool> reduced(4, false);
      for (const int64_t a : axes) reduced[static_cast<size_t>(a < 0 ? a + 4 : a)] = true;
      shape kept, dims;
      double count = 1;
      for (size_t d = 0; d < 4; ++d) {
        kept.push_back(reduced[d] ? 1 : x.dims[d]);
        if (reduced[d]) count *= static_cast<double>(x.dims[d]);
        if (!reduced[d] || keep) dims.push_back(kept.back());
      }
      std::vector<double> sums(static_cast<size_t>(element_count(kept)), 0);
      for (const auto& i : indices_of(x.dims)) {
        sums[broadcast_offset(kept, i)] += double{x.as<float>()[offset_of(x.dims, i)]} / count;
      }
      const auto y = run("ReduceMean", {x}, {{"axes", axes}, {"keepdims", keep}});
      CHECK(y.dims == dims);
      CHECK(difference(values(y), {sums.begin(), sums.end()}) < 1e-6);
    }
  }
  const auto all = fold("ReduceMean", {x}, {{"keepdims", int64_t{0}}});
  CHECK(all.dims == shape{});
}

TEST_CASE("an unsupported or invalid use of an operator is refused with its node, its name and the reason") {
  const auto x = floats({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  const auto error = [](const std::string& op, const std::vector<tensor>& inputs, const attributes& a = {},
                        int64_t opset = 17) -> std::string {
    try {
      run(op, inputs, a, 1, opset);
      return "no error";
    } catch (const model_error& e) {
      return e.what();
    }
  };
  const auto yes = make_tensor(data_type::boolean, {}, std::array{std::byte{1}});
  const auto half = floats({}, {0.5F}), four = floats({4}, {1, 1, 1, 1});
  CHECK(error("Dropout", {x, half, yes}) ==
        "test: node 't' (Dropout): is in training mode: export the model for inference");
  CHECK(error("BatchNormalization", {x, four, four, four, four}, {{"training_mode", int64_t{1}}}) ==
        "test: node 't' (BatchNormalization): is in training mode: export the model for inference");
  CHECK(error("BatchNormalization", {x, four, four, four, half}) ==
        "test: node 't' (BatchNormalization): cannot normalise 4 channels with []");
  CHECK(error("Pad", {x, ints({4}, {0, 1, 0, 1})}, {{"mode", std::string{"wrap"}}}) ==
        "test: node 't' (Pad): mode = 'wrap' is not supported, only constant, edge and reflect");
  CHECK(error("Pad", {x, ints({2}, {0, 1})}) == "test: node 't' (Pad): [3, 4] has 2 pads, but needs 4");
  CHECK(error("Pad", {x, ints({4}, {0, 4, 0, 0})}, {{"mode", std::string{"reflect"}}}) ==
        "test: node 't' (Pad): cannot pad [3, 4] by [0, 4, 0, 0] in mode reflect");
  CHECK(error("Pad", {x, ints({4}, {0, -2, 0, 2})}, {{"mode", std::string{"reflect"}}}) ==
        "test: node 't' (Pad): cannot pad [3, 4] by [0, -2, 0, 2] in mode reflect");
  CHECK(error("Pad", {x, ints({4}, {0, -4, 0, 2})}, {{"mode", std::string{"edge"}}}) ==
        "test: node 't' (Pad): its output would be empty");
  CHECK(error("Slice", {x, ints({1}, {0}), ints({1}, {9}), ints({1}, {1}), ints({1}, {0})}) ==
        "test: node 't' (Slice): has a step of 0");
  CHECK(error("Slice", {x, ints({1}, {0}), ints({2}, {9, 9})}) ==
        "test: node 't' (Slice): its starts, ends, axes and steps differ in length");
  CHECK(error("Split", {x, ints({2}, {1, 2})}, {{"axis", int64_t{1}}}) ==
        "test: node 't' (Split): cannot split 4 into 1 outputs of [1, 2]");
  CHECK(error("Expand", {x, ints({2}, {1, 5})}) == "test: node 't' (Expand): cannot expand [3, 4] to [1, 5]");
  CHECK(error("Where", {x, x, x}) ==
        "test: node 't' (Where): takes BOOL and two tensors of one type, not FP32, FP32 and FP32");
  CHECK_THROWS_WITH_AS(
      fold("ConstantOfShape", {ints({2}, {1 << 15, 1 << 14})}),
      "test: node 't' (ConstantOfShape): would fill 2147483648 bytes, at most 268435456 are allowed",
      model_error);
  CHECK_THROWS_AS(fold("Expand", {half, ints({2}, {1 << 15, 1 << 14})}), model_error);
}

TEST_CASE("ConvTranspose refuses inconsistent weights and sizes") {
  std::mt19937 random(36);
  const auto x = random_floats(random, {2, 4, 5, 5}), w = random_floats(random, {4, 3, 2, 2});
  CHECK(run("ConvTranspose", {x, w}).dims == shape{2, 3, 6, 6});
  CHECK_THROWS_AS(run("ConvTranspose", {x, random_floats(random, {3, 3, 2, 2})}), model_error);
  CHECK_THROWS_AS(run("ConvTranspose", {x, w}, {{"group", int64_t{3}}}), model_error);
  CHECK_THROWS_AS(run("ConvTranspose", {x, w}, {{"pads", shape{9, 9, 9, 9}}}), model_error);
  CHECK_THROWS_AS(run("ConvTranspose", {x, w}, {{"output_shape", shape{6}}}), model_error);
}
