// Matrix products against their definition, at random shapes.
#include <doctest/doctest.h>

#include <cmath>

#include "gpu/common/model_error.hpp"
#include "gpu/onnx/executor.hpp"
#include "gpu/onnx/gelu.hpp"
#include "gpu/onnx/model.hpp"
#include "tests/gpu/onnx/graphs.hpp"

using namespace troupe;
using namespace troupe::onnx;

namespace {

float at(const tensor& t, const shape& index) { return t.as<float>()[offset_of(t.dims, index)]; }

/// numpy.matmul for operands of rank 2 or more; `dims` is the shape of the result.
std::vector<float> reference(const tensor& a, const tensor& b, const shape& dims) {
  std::vector<float> out;
  const int64_t inner = a.dims.back();
  for (const auto& i : indices_of(dims)) {
    const auto operand = [&](const tensor& t, int64_t row, int64_t column) {
      shape index(t.dims.size());
      const size_t skip = dims.size() - t.dims.size();
      for (size_t d = 0; d + 2 < t.dims.size(); ++d) index[d] = t.dims[d] == 1 ? 0 : i[d + skip];
      index[t.dims.size() - 2] = row;
      index[t.dims.size() - 1] = column;
      return double{at(t, index)};
    };
    double sum = 0;
    for (int64_t k = 0; k < inner; ++k) sum += operand(a, i[dims.size() - 2], k) * operand(b, k, i.back());
    out.push_back(static_cast<float>(sum));
  }
  return out;
}

}  // namespace

TEST_CASE("MatMul multiplies stacks of matrices and broadcasts them") {
  std::mt19937 random(21);
  struct shapes {
    shape a, b, out;
  };
  for (const auto& s : {shapes{{3, 5}, {5, 7}, {3, 7}}, shapes{{2, 3, 5}, {5, 7}, {2, 3, 7}},
                        shapes{{2, 4, 3, 5}, {2, 4, 5, 6}, {2, 4, 3, 6}},
                        shapes{{2, 1, 3, 5}, {4, 5, 2}, {2, 4, 3, 2}}, shapes{{3, 5}, {2, 5, 4}, {2, 3, 4}},
                        shapes{{1, 3, 5}, {6, 5, 1}, {6, 3, 1}}, shapes{{33, 17}, {17, 65}, {33, 65}}}) {
    CAPTURE(to_string(s.a));
    const auto a = random_floats(random, s.a), b = random_floats(random, s.b);
    const auto expected = reference(a, b, s.out);
    CHECK(fold("MatMul", {a, b}).dims == s.out);
    CHECK(difference(values(fold("MatMul", {a, b})), expected) < 1e-5);
    if (s.out[0] != s.a[0]) continue;  // the batch must lead
    const bool both_lead = s.b.size() == s.a.size() && s.b[0] == s.a[0];
    CHECK(difference(values(run("MatMul", {a, b}, {}, both_lead ? 2 : 1)), expected) < 1e-5);
  }
}

TEST_CASE("MatMul treats vectors as rows on the left and columns on the right") {
  std::mt19937 random(22);
  const auto m = random_floats(random, {3, 4}), row = random_floats(random, {3}),
             column = random_floats(random, {4});
  const auto left = fold("MatMul", {row, m}), right = fold("MatMul", {m, column}),
             dot = fold("MatMul", {row, row});
  CHECK(left.dims == shape{4});
  CHECK(right.dims == shape{3});
  CHECK(dot.dims == shape{});
  CHECK(difference(values(left), reference(floats({1, 3}, values(row)), m, {1, 4})) < 1e-6);
  CHECK(difference(values(right), reference(m, floats({4, 1}, values(column)), {3, 1})) < 1e-6);
  CHECK(difference(values(run("MatMul", {m, column})), values(right)) < 1e-6);
}

TEST_CASE("Gemm: both transpositions, alpha, beta, and every shape of C that broadcasts") {
  std::mt19937 random(23);
  int round = 0;
  for (const shape& c_dims :
       {shape{}, shape{6}, shape{1}, shape{1, 6}, shape{4, 1}, shape{4, 6}, shape{1, 1}}) {
    for (const bool turn_a : {false, true}) {
      for (const bool turn_b : {false, true}) {
        CAPTURE(to_string(c_dims));
        const float alpha = round % 2 ? 1 : 0.5F, beta = round++ % 3 ? 1 : -2;
        const auto a = random_floats(random, {4, 5}), b = random_floats(random, {5, 6});
        const auto c = random_floats(random, c_dims);
        auto expected = reference(a, b, {4, 6});
        for (size_t i = 0; i < expected.size(); ++i) {
          const auto row = static_cast<int64_t>(i) / 6, column = static_cast<int64_t>(i) % 6;
          shape index;
          if (c_dims.size() == 2) index.push_back(c_dims[0] == 1 ? 0 : row);
          if (!c_dims.empty()) index.push_back(c_dims.back() == 1 ? 0 : column);
          expected[i] = alpha * expected[i] + beta * at(c, index);
        }
        const attributes attribute{
            {"alpha", alpha}, {"beta", beta}, {"transA", int64_t{turn_a}}, {"transB", int64_t{turn_b}}};
        const auto turned = [](const tensor& t, bool turn) { return turn ? fold("Transpose", {t}) : t; };
        const std::vector<tensor> in{turned(a, turn_a), turned(b, turn_b), c};
        CHECK(difference(values(fold("Gemm", in, attribute)), expected) < 1e-5);
        if (!turn_a && (c_dims.size() < 2 || c_dims[0] == 1)) {
          CHECK(difference(values(run("Gemm", in, attribute)), expected) < 1e-5);
        }
      }
    }
  }
}

TEST_CASE("a fused bias and activation of a product give the right result") {
  std::mt19937 random(24);
  const auto w = random_floats(random, {8, 6}), bias = random_floats(random, {6}),
             x = random_floats(random, {3, 8});
  for (const std::string activation_op : {"Relu", "Tanh", "Sigmoid", "Clip"}) {
    CAPTURE(activation_op);
    node last{"c", activation_op, {"b"}, {"y"}, {}};
    std::map<std::string, tensor, std::less<>> constants{{"w", w}, {"bias", bias}};
    if (activation_op == "Clip") {
      last.inputs = {"b", "", "high"};
      constants["high"] = floats({}, {0.25F});
    }
    auto g = make_graph(
        {8}, {{"a", "MatMul", {"x", "w"}, {"a"}, {}}, {"b", "Add", {"bias", "a"}, {"b"}, {}}, last}, {"y"},
        constants);
    const auto m = std::make_shared<const model>(std::move(g));
    executor e(m, load_weights(*m));
    const auto y = e.run({0, 1}, {x}).at(0);
    auto expected = reference(x, w, {3, 6});
    for (size_t i = 0; i < expected.size(); ++i) {
      float& v = expected[i];
      v += values(bias)[i % 6];
      if (activation_op == "Relu") v = std::max(v, 0.0F);
      if (activation_op == "Tanh") v = std::tanh(v);
      if (activation_op == "Sigmoid") v = 1 / (1 + std::exp(-v));
      if (activation_op == "Clip") v = std::min(v, 0.25F);
    }
    CHECK(difference(values(y), expected) < 1e-5);
  }
}

TEST_CASE("a GELU of five nodes is fused, unless it has another reader inside or another constant") {
  std::mt19937 random(27);
  const auto w = random_floats(random, {8, 6}, -2, 2), x = random_floats(random, {3, 8}, -2, 2);
  for (const float half : {0.5F, 0.75F}) {
    for (const bool watched : {false, true}) {
      const std::vector<node> nodes{
          {"a", "MatMul", {"x", "w"}, {"a"}, {}}, {"d", "Div", {"a", "root"}, {"d"}, {}},
          {"e", "Erf", {"d"}, {"e"}, {}},         {"p", "Add", {"e", "one"}, {"p"}, {}},
          {"m", "Mul", {"a", "p"}, {"m"}, {}},    {"y", "Mul", {"m", "half"}, {"y"}, {}}};
      auto g =
          make_graph({8}, nodes, watched ? std::vector<std::string>{"y", "e"} : std::vector<std::string>{"y"},
                     {{"w", w},
                      {"root", floats({}, {1.41421356F})},
                      {"one", floats({}, {1})},
                      {"half", floats({}, {half})}});
      const auto m = std::make_shared<const model>(std::move(g));
      CHECK(find_gelu(m->program(), m->readers(), "a", 2).empty() == (watched || half != 0.5F));
      executor e(m, load_weights(*m));
      const auto out = e.run({0, m->layers().size()}, {x});
      auto expected = reference(x, w, {3, 6});
      for (auto& v : expected) v = half * v * (1 + std::erf(v / 1.41421356F));
      CHECK(difference(values(out.at(0)), expected) < 1e-5);
    }
  }
}

TEST_CASE("a GELU is not fused if its constants have more dimensions than the product") {
  std::mt19937 random(28);
  const auto w = random_floats(random, {8, 6}, -2, 2), x = random_floats(random, {3, 8}, -2, 2);
  for (const shape& dims : {shape{}, shape{1}, shape{1, 1}, shape{1, 1, 1}}) {
    const bool grows = dims.size() == 3;
    std::vector<node> nodes{{"a", "MatMul", {"x", "w"}, {"a"}, {}}, {"d", "Div", {"a", "root"}, {"d"}, {}},
                            {"e", "Erf", {"d"}, {"e"}, {}},         {"p", "Add", {"e", "one"}, {"p"}, {}},
                            {"m", "Mul", {"a", "p"}, {"m"}, {}},    {"h", "Mul", {"m", "half"}, {"h"}, {}}};
    if (grows) nodes.push_back({"t", "Transpose", {"h"}, {"y"}, {{"perm", shape{1, 0, 2}}}});
    const auto m = std::make_shared<const model>(make_graph({8}, nodes, {grows ? "y" : "h"},
                                                            {{"w", w},
                                                             {"root", floats(dims, {1.41421356F})},
                                                             {"one", floats(dims, {1})},
                                                             {"half", floats(dims, {0.5F})}}));
    CHECK(find_gelu(m->program(), m->readers(), "a", 2).empty() == grows);
    executor e(m, load_weights(*m));
    const auto out = e.run({0, m->layers().size()}, {x}).at(0);
    CHECK(out.dims == (grows ? shape{3, 1, 6} : shape{3, 6}));
    auto expected = reference(x, w, {3, 6});
    for (auto& v : expected) v = 0.5F * v * (1 + std::erf(v / 1.41421356F));
    CHECK(difference(values(out), expected) < 1e-5);
  }
}

TEST_CASE("a value that is also read elsewhere, or is an output, is not fused away") {
  std::mt19937 random(25);
  const auto w = random_floats(random, {4, 4}), x = random_floats(random, {2, 4});
  auto g = make_graph({4}, {{"a", "MatMul", {"x", "w"}, {"a"}, {}}, {"b", "Relu", {"a"}, {"b"}, {}}},
                      {"a", "b"}, {{"w", w}});
  const auto m = std::make_shared<const model>(std::move(g));
  executor e(m, load_weights(*m));
  const auto out = e.run({0, 1}, {x});
  const auto a = reference(x, w, {2, 4});
  CHECK(difference(values(out.at(0)), a) < 1e-5);
  CHECK(difference(values(out.at(1)), values(fold("Relu", {floats({2, 4}, a)}))) < 1e-5);
}

TEST_CASE("products of incompatible shapes are refused") {
  std::mt19937 random(26);
  const auto a = random_floats(random, {2, 3}), b = random_floats(random, {4, 2}),
             c = random_floats(random, {3, 2});
  CHECK_THROWS_AS(run("MatMul", {a, b}), model_error);
  CHECK_THROWS_AS(run("Gemm", {a, b}), model_error);
  CHECK_THROWS_AS(run("Gemm", {a, c, b}), model_error);
  CHECK_THROWS_AS(fold("MatMul", {random_floats(random, {2, 2, 3}), random_floats(random, {3, 3, 2})}),
                  model_error);
}
