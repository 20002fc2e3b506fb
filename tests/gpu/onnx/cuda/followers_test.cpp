// Fusion of operators into products and convolutions, checked on the resulting programs.
#include "gpu/onnx/cuda/followers.hpp"

#include <doctest/doctest.h>

#include <stdexcept>

#include "tests/gpu/onnx/cuda/programs.hpp"
#include "tests/gpu/onnx/graphs.hpp"

using namespace troupe;
using namespace troupe::cuda;

namespace {

onnx::tensor zeros(const onnx::shape& dims) {
  return onnx::floats(dims, std::vector<float>(static_cast<size_t>(onnx::element_count(dims))));
}

using constants = std::map<std::string, onnx::tensor, std::less<>>;

/// "p" is x times w, [2, 3, 5]; followed by these nodes.
tensor_program behind_product(std::vector<onnx::node> nodes, const std::vector<std::string>& outputs,
                              constants known = {}) {
  nodes.insert(nodes.begin(), node("MatMul", {"x", "w"}, "p"));
  known["w"] = zeros({8, 5});
  return program_of(onnx::model(onnx::make_graph({3, 8}, nodes, outputs, known)));
}

/// "p" is x, [2, c, 3, 5], convolved to the same shape; followed by these nodes. `first`: nodes before it.
tensor_program behind_convolution(std::vector<onnx::node> nodes, const std::vector<std::string>& outputs,
                                  constants known = {}, std::vector<onnx::node> first = {},
                                  bool channels_last = false, int64_t channels = 4) {
  first.push_back(node("Conv", {"x", "w"}, "p"));
  first.insert(first.end(), nodes.begin(), nodes.end());
  known["w"] = zeros({channels, channels, 1, 1});
  return program_of(onnx::model(onnx::make_graph({channels, 3, 5}, first, outputs, known)), 2, channels_last);
}

template <class Step>
const Step& first(const tensor_program& p) {
  for (const auto& s : p.steps)
    if (const auto* found = std::get_if<Step>(&s)) return *found;
  throw std::logic_error("there is no such step");
}

bool is_there(const place& p) { return p.where != place::in::nothing; }

}  // namespace

TEST_CASE("followers: a product fuses its bias and ReLU as either input of the Add") {
  for (const auto& sum : {node("Add", {"p", "b"}, "s"), node("Add", {"b", "p"}, "s")}) {
    const auto p = behind_product({sum, node("Relu", {"s"}, "y")}, {"y"}, {{"b", zeros({5})}});
    REQUIRE(p.steps.size() == 1);
    CHECK(first<product_step>(p).args.rows == 6);
    CHECK(first<product_step>(p).args.relu);
    CHECK(first<product_step>(p).bias.where == place::in::parameter);
  }
}

TEST_CASE("followers: a product before another operator, or before none, fuses nothing") {
  auto p = behind_product({}, {"p"});
  REQUIRE(p.steps.size() == 1);
  CHECK_FALSE(first<product_step>(p).args.relu);
  CHECK_FALSE(is_there(first<product_step>(p).bias));
  p = behind_product({node("Sigmoid", {"p"}, "y")}, {"y"});
  CHECK(p.steps.size() == 2);
  CHECK_FALSE(first<product_step>(p).args.relu);
}

TEST_CASE("followers: a bias has one number per column, for any dimensions of one") {
  const auto takes = [](const onnx::shape& dims) {
    const auto p = behind_product({node("Add", {"p", "b"}, "y")}, {"y"}, {{"b", zeros(dims)}});
    CHECK(p.steps.size() == (is_there(first<product_step>(p).bias) ? 1 : 2));
    return is_there(first<product_step>(p).bias);
  };
  for (const onnx::shape& dims : {onnx::shape{5}, {1, 5}, {1, 1, 5}}) CHECK(takes(dims));
  for (const onnx::shape& dims : {onnx::shape{}, {1}, {3, 1}, {3, 5}}) CHECK_FALSE(takes(dims));
}

TEST_CASE("followers: a convolution's bias is along its channels, not along its last dimension") {
  const auto takes = [](const onnx::shape& dims, int64_t channels) {
    const auto p =
        behind_convolution({node("Add", {"p", "b"}, "y")}, {"y"}, {{"b", zeros(dims)}}, {}, false, channels);
    CHECK(p.steps.size() == (is_there(first<conv_step>(p).bias) ? 1 : 2));
    return is_there(first<conv_step>(p).bias);
  };
  CHECK(takes({5, 1, 1}, 5));
  CHECK(takes({1, 5, 1, 1}, 5));
  CHECK_FALSE(takes({5}, 5));
  CHECK_FALSE(takes({1, 5}, 5));
  CHECK_FALSE(takes({1}, 5));
  CHECK(takes({}, 1));  // with one channel, one number is one per channel
  CHECK(takes({1, 1}, 1));
  CHECK_FALSE(takes({5}, 1));
}

TEST_CASE("followers: a second bias is not fused, also after the operator's own") {
  auto p = behind_product({node("Add", {"p", "b"}, "s"), node("Add", {"s", "b"}, "y")}, {"y"},
                          {{"b", zeros({5})}});
  CHECK(p.steps.size() == 2);
  p = program_of(onnx::model(onnx::make_graph(
      {8}, {node("Gemm", {"x", "w", "b"}, "p", {{"alpha", 2.0F}}), node("Add", {"p", "b"}, "y")}, {"y"},
      {{"w", zeros({8, 5})}, {"b", zeros({5})}})));
  CHECK(p.steps.size() == 2);
}

TEST_CASE("followers: a value that is an output or has another reader prevents fusion") {
  const constants known{{"b", zeros({5})}};
  auto p = behind_product({node("Add", {"p", "b"}, "y")}, {"p", "y"}, known);
  CHECK(p.steps.size() == 2);
  CHECK_FALSE(is_there(first<product_step>(p).bias));
  p = behind_product({node("Add", {"p", "b"}, "y"), node("Exp", {"p"}, "z")}, {"y", "z"}, known);
  CHECK(p.steps.size() == 3);
  CHECK_FALSE(is_there(first<product_step>(p).bias));
}

TEST_CASE("followers: nothing is fused after a ReLU") {
  const auto p =
      behind_product({node("Relu", {"p"}, "r"), node("Add", {"r", "b"}, "y")}, {"y"}, {{"b", zeros({5})}});
  CHECK(p.steps.size() == 2);
  CHECK(first<product_step>(p).args.relu);
  CHECK_FALSE(is_there(first<product_step>(p).bias));
}

TEST_CASE("followers: a convolution fuses bias, residual and ReLU, a product no residual") {
  const std::vector<onnx::node> nodes{node("Add", {"p", "b"}, "s"), node("Add", {"r", "s"}, "t"),
                                      node("Relu", {"t"}, "y")};
  auto p = behind_convolution(nodes, {"y"}, {{"b", zeros({4, 1, 1})}}, {node("Exp", {"x"}, "r")});
  REQUIRE(p.steps.size() == 2);
  CHECK(is_there(first<conv_step>(p).bias));
  CHECK(is_there(first<conv_step>(p).residual));
  CHECK(first<conv_step>(p).args.relu);
  p = program_of(onnx::model(onnx::make_graph(
      {5}, {node("MatMul", {"x", "w"}, "p"), node("Add", {"p", "x"}, "y")}, {"y"}, {{"w", zeros({5, 5})}})));
  CHECK(p.steps.size() == 2);
}

TEST_CASE("followers: a residual that is computed after the convolution is not fused") {
  const auto early = node("Exp", {"x"}, "r"), sum = node("Add", {"p", "r"}, "y");
  CHECK(is_there(first<conv_step>(behind_convolution({sum}, {"y"}, {}, {early})).residual));
  const auto p = behind_convolution({early, sum}, {"y"});
  CHECK(count<pointwise_step>(p) == 1);
  CHECK_FALSE(is_there(first<conv_step>(p).residual));
}

TEST_CASE("followers: a residual must have the layout of the result") {
  const auto sum = node("Add", {"p", "x"}, "y");  // the model's input has its channels first
  CHECK(is_there(first<conv_step>(behind_convolution({sum}, {"y"})).residual));
  CHECK_FALSE(is_there(first<conv_step>(behind_convolution({sum}, {"y"}, {}, {}, true)).residual));
}

TEST_CASE("followers: a second residual, one of another shape, or the result itself is not fused") {
  const auto exp = node("Exp", {"x"}, "r");
  auto p = behind_convolution({node("Add", {"p", "r"}, "s"), node("Add", {"s", "r"}, "y")}, {"y"}, {}, {exp});
  CHECK(p.steps.size() == 3);
  CHECK(is_there(first<conv_step>(p).residual));
  auto mean = node("GlobalAveragePool", {"x"}, "r");
  p = behind_convolution({node("Add", {"p", "r"}, "y")}, {"y"}, {}, {mean});
  CHECK(p.steps.size() == 3);
  CHECK_FALSE(is_there(first<conv_step>(p).residual));
  p = behind_convolution({node("Add", {"p", "p"}, "y")}, {"y"});
  CHECK(p.steps.size() == 2);
  CHECK_FALSE(is_there(first<conv_step>(p).residual));
}

TEST_CASE("followers: a bias after a residual is not fused") {
  const auto p = behind_convolution({node("Add", {"p", "x"}, "s"), node("Add", {"s", "b"}, "y")}, {"y"},
                                    {{"b", zeros({4, 1, 1})}});
  CHECK(p.steps.size() == 2);
  CHECK(is_there(first<conv_step>(p).residual));
  CHECK_FALSE(is_there(first<conv_step>(p).bias));
}
