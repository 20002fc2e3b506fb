// What models become: how many launches, and what is fused.
#include "gpu/cuda/onnx/program_builder.hpp"

#include <doctest/doctest.h>

#include "gpu/cuda/onnx/program_operators.hpp"
#include "gpu/onnx/operators.hpp"
#include "tests/gpu/cuda/onnx/programs.hpp"
#include "tests/gpu/onnx/fixtures.hpp"
#include "tests/gpu/onnx/graphs.hpp"

using namespace troupe;
using namespace troupe::cuda;

TEST_CASE(
    "program builder: every operator of the engine is one on a GPU, or known when the model is loaded") {
  for (const auto& entry : onnx::operators()) {
    CAPTURE(entry.name);
    const bool always_known = entry.name == "Shape" || entry.name == "ConstantOfShape";
    const bool is_one = find_program_operator(entry.name) != nullptr;
    CHECK(is_one == !always_known);
  }
}

TEST_CASE("program builder: a residual network is its convolutions, each with all that follows it") {
  const onnx::fixture f("resnet_a");
  for (const bool last : {false, true}) {
    const auto p = program_of(*f.loaded, 2, last);
    const auto convolutions =
        static_cast<size_t>(std::ranges::count(f.loaded->program().nodes, "Conv", &onnx::node::op));
    CHECK(count<conv_step>(p) == convolutions);
    CHECK(count<pointwise_step>(p) == 0);
    // channels last, the input is turned once
    CHECK(count<copy_step>(p) == (last ? 1 : 0));
  }
}

TEST_CASE("program builder: a chain of elementwise nodes is one kernel, GELU and all") {
  std::vector<onnx::node> nodes{node("Div", {"x", "root"}, "a"), node("Erf", {"a"}, "b"),
                                node("Add", {"b", "one"}, "c"), node("Mul", {"x", "c"}, "d"),
                                node("Mul", {"d", "half"}, "e")};
  const auto g = onnx::make_graph({8}, nodes, {"e"},
                                  {{"root", onnx::floats({}, {1.41421356F})},
                                   {"one", onnx::floats({}, {1})},
                                   {"half", onnx::floats({}, {0.5F})}});
  const auto p = program_of(onnx::model(g));
  REQUIRE(p.steps.size() == 1);
  const auto& s = std::get<pointwise_step>(p.steps[0]);
  CHECK(s.chain.instructions == 5);
  CHECK(s.chain.operands == 4);
  CHECK(s.width == 4);
}

TEST_CASE("program builder: a chain ends where another node reads its value, or it is an output") {
  std::vector<onnx::node> nodes{node("Relu", {"x"}, "a"), node("Exp", {"a"}, "b"), node("Sqrt", {"a"}, "c")};
  CHECK(program_of(onnx::model(onnx::make_graph({8}, nodes, {"b", "c"}))).steps.size() == 3);
  nodes.pop_back();
  CHECK(program_of(onnx::model(onnx::make_graph({8}, nodes, {"b"}))).steps.size() == 1);
  CHECK(program_of(onnx::model(onnx::make_graph({8}, nodes, {"a", "b"}))).steps.size() == 2);
}

TEST_CASE("program builder: a BOOL that is gone through is 0 or 1") {
  auto to_bool = node("Cast", {"x"}, "a"), back = node("Cast", {"a"}, "b");
  to_bool.attributes["to"] = int64_t{9}, back.attributes["to"] = int64_t{1};
  const auto p = program_of(onnx::model(onnx::make_graph({8}, {to_bool, back}, {"b"})));
  REQUIRE(p.steps.size() == 1);
  CHECK(std::get<pointwise_step>(p.steps[0]).chain.instruction[0].op == pointwise_op::truth);
}

TEST_CASE("program builder: picking from nothing is refused") {
  onnx::graph g;
  g.file = "empty", g.opset = 17;
  g.inputs = {{"i", data_type::int64, {-1}}};
  g.constants["table"] = onnx::make_tensor(data_type::int64, {0, 2}, {});
  g.nodes = {node("Gather", {"table", "i"}, "y")};
  g.outputs = {"y"};
  const onnx::model m(std::move(g));
  CHECK_THROWS_WITH(program_of(m), doctest::Contains("there is nothing to pick from, on a GPU"));
}

TEST_CASE("program builder: buffers that are needed at the same time lie apart, others share memory") {
  std::vector<onnx::node> nodes;
  for (int i = 0; i < 10; ++i)
    nodes.push_back(node("Softmax", {i == 0 ? "x" : "v" + std::to_string(i)}, "v" + std::to_string(i + 1)));
  const auto p = program_of(onnx::model(onnx::make_graph({1024}, nodes, {"v10"})), 4);
  CHECK(p.steps.size() == 10);
  CHECK(p.arena_bytes == 2 * 4 * 1024 * sizeof(float));
}

TEST_CASE("program builder: a transposition that moves nothing costs nothing") {
  auto turn = node("Transpose", {"x"}, "y");
  turn.attributes["perm"] = std::vector<int64_t>{0, 2, 1};
  const auto g = onnx::make_graph({1, 8}, {turn, node("Softmax", {"y"}, "z")}, {"z"});
  CHECK(program_of(onnx::model(g)).steps.size() == 1);
}
