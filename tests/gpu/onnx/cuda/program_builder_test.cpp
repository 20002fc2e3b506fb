// Programs of models: the number of launches, and the fused operators.
#include "gpu/onnx/cuda/program_builder.hpp"

#include <doctest/doctest.h>

#include "gpu/onnx/cuda/program_operators.hpp"
#include "gpu/onnx/operators.hpp"
#include "tests/gpu/onnx/cuda/programs.hpp"
#include "tests/gpu/onnx/fixtures.hpp"
#include "tests/gpu/onnx/graphs.hpp"

using namespace troupe;
using namespace troupe::cuda;

TEST_CASE("program builder: every operator of the CPU engine runs on a GPU, or is known at load time") {
  for (const auto& entry : onnx::operators()) {
    CAPTURE(entry.name);
    const bool always_known = entry.name == "Shape" || entry.name == "ConstantOfShape";
    const bool is_one = find_program_operator(entry.name) != nullptr;
    CHECK(is_one == !always_known);
  }
}

TEST_CASE("program builder: a residual network has no pointwise steps, because its convolutions fuse them") {
  const onnx::fixture f("resnet_a");
  for (const bool last : {false, true}) {
    const auto p = program_of(*f.loaded, 2, last);
    const auto convolutions =
        static_cast<size_t>(std::ranges::count(f.loaded->program().nodes, "Conv", &onnx::node::op));
    CHECK(count<conv_step>(p) == convolutions);
    CHECK(count<pointwise_step>(p) == 0);
    // channels last: the input is transposed once
    CHECK(count<copy_step>(p) == (last ? 1 : 0));
  }
}

TEST_CASE("program builder: a chain of elementwise nodes, such as a GELU, is one kernel") {
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

TEST_CASE("program builder: a chain ends at a value that is an output or has another reader") {
  std::vector<onnx::node> nodes{node("Relu", {"x"}, "a"), node("Exp", {"a"}, "b"), node("Sqrt", {"a"}, "c")};
  CHECK(program_of(onnx::model(onnx::make_graph({8}, nodes, {"b", "c"}))).steps.size() == 3);
  nodes.pop_back();
  CHECK(program_of(onnx::model(onnx::make_graph({8}, nodes, {"b"}))).steps.size() == 1);
  CHECK(program_of(onnx::model(onnx::make_graph({8}, nodes, {"a", "b"}))).steps.size() == 2);
}

TEST_CASE("program builder: a Cast to BOOL inside of a chain gives 0 or 1") {
  auto to_bool = node("Cast", {"x"}, "a"), back = node("Cast", {"a"}, "b");
  to_bool.attributes["to"] = int64_t{9}, back.attributes["to"] = int64_t{1};
  const auto p = program_of(onnx::model(onnx::make_graph({8}, {to_bool, back}, {"b"})));
  REQUIRE(p.steps.size() == 1);
  CHECK(std::get<pointwise_step>(p.steps[0]).chain.instruction[0].op == pointwise_op::truth);
}

TEST_CASE("program builder: a Gather from an empty axis is refused") {
  onnx::graph g;
  g.file = "empty", g.opset = 17;
  g.inputs = {{"i", data_type::int64, {-1}}};
  g.constants["table"] = onnx::make_tensor(data_type::int64, {0, 2}, {});
  g.nodes = {node("Gather", {"table", "i"}, "y")};
  g.outputs = {"y"};
  const onnx::model m(std::move(g));
  CHECK_THROWS_WITH(program_of(m), doctest::Contains("its input is empty along the axis, on a GPU"));
}

TEST_CASE("program builder: buffers of a chain share the memory of two") {
  std::vector<onnx::node> nodes;
  for (int i = 0; i < 10; ++i)
    nodes.push_back(node("Softmax", {i == 0 ? "x" : "v" + std::to_string(i)}, "v" + std::to_string(i + 1)));
  const auto p = program_of(onnx::model(onnx::make_graph({1024}, nodes, {"v10"})), 4);
  CHECK(p.steps.size() == 10);
  CHECK(p.arena_bytes == 2 * 4 * 1024 * sizeof(float));
}

TEST_CASE("program builder: a transposition that moves nothing has no step") {
  auto turn = node("Transpose", {"x"}, "y");
  turn.attributes["perm"] = std::vector<int64_t>{0, 2, 1};
  const auto g = onnx::make_graph({1, 8}, {turn, node("Softmax", {"y"}, "z")}, {"z"});
  CHECK(program_of(onnx::model(g)).steps.size() == 1);
}

TEST_CASE("program builder: a copy uses the widest words that are contiguous and aligned on both sides") {
  // of `dims`, from tensors with these strides and firsts
  const auto copied = [](data_type type, const onnx::shape& dims, const onnx::shape& from, int64_t from_first,
                         const onnx::shape& to, int64_t to_first) {
    program_by_hand h;
    h.builder.copy(type, dims, {}, from, from_first, {}, to, to_first);
    return std::get<copy_step>(h.builder.build().steps.front());
  };
  const auto fp32 = data_type::fp32;
  const auto dense = copied(fp32, {2, 8}, {8, 1}, 4, {8, 1}, 8);
  CHECK(dense.word == 16);
  CHECK(dense.box.count == 4);
  CHECK(dense.box.from_first == 1);
  CHECK(dense.box.to_first == 2);
  const auto rows = copied(fp32, {3, 4}, {10, 1}, 0, {4, 1}, 0);  // ten is not a multiple of four
  CHECK(rows.word == 8);
  CHECK(rows.box.count == 6);
  CHECK(rows.box.from_steps.step[0] == 5);
  CHECK(rows.box.to_steps.step[0] == 2);
  CHECK(copied(fp32, {3, 4}, {4, 1}, 0, {10, 1}, 0).word == 8);
  CHECK(copied(fp32, {3}, {1}, 0, {1}, 0).word == 4);
  CHECK(copied(fp32, {4}, {1}, 1, {1}, 0).word == 4);
  CHECK(copied(fp32, {4}, {1}, 0, {1}, 2).word == 8);
  CHECK(copied(fp32, {4}, {-1}, 3, {1}, 0).word == 4);
  CHECK(copied(fp32, {4}, {0}, 0, {1}, 0).word == 4);
  CHECK(copied(fp32, {4}, {2}, 0, {1}, 0).word == 4);
  CHECK(copied(fp32, {}, {}, 0, {}, 0).word == 4);
  CHECK(copied(data_type::int64, {4}, {1}, 0, {1}, 0).word == 16);
  CHECK(copied(data_type::uint8, {48}, {1}, 0, {1}, 0).word == 16);
  CHECK(copied(data_type::uint8, {6}, {1}, 0, {1}, 0).word == 2);
}

TEST_CASE("program builder: a copy writes in the target's memory order, and an empty copy has no step") {
  program_by_hand h;
  h.builder.copy(data_type::fp32, {3, 5}, {}, {5, 1}, 0, {}, {1, 3}, 0);
  h.builder.copy(data_type::fp32, {3, 0}, {}, {1, 1}, 0, {}, {1, 1}, 0);
  const auto p = h.builder.build();
  REQUIRE(count<copy_step>(p) == 1);
  const auto& box = std::get<copy_step>(p.steps.front()).box;
  CHECK(box.walk.extent[0] == 5);
  CHECK(box.walk.extent[1] == 3);
  CHECK(box.from_steps.step[1] == 5);
  CHECK(box.to_steps.step[1] == 1);
}

TEST_CASE("program builder: a value is copied only if it has another layout") {
  program_by_hand h;
  const auto v = h.make({2, 3, 1, 4}), last = h.channels_last({2, 3, 1, 4});
  CHECK(h.builder.made_plain(v).where.index == v.where.index);
  CHECK(h.builder.arranged(last, last.strides).where.index == last.where.index);
  auto odd = v;
  odd.strides[2] = 77;  // of a dimension of size one
  CHECK(odd.is_plain());
  CHECK(h.builder.made_plain(odd).where.index == v.where.index);
  CHECK(h.builder.made_plain(odd).strides == v.strides);
  CHECK_FALSE(last.is_plain());
  const auto turned = h.builder.made_plain(last);
  CHECK(turned.where.index != last.where.index);
  CHECK(turned.is_plain());
  CHECK(count<copy_step>(h.builder.build()) == 1);
}

TEST_CASE("program builder: padding iterates in the memory order of the result") {
  program_by_hand h;
  const auto x = h.make({2, 3, 4, 5}), out = h.channels_last({2, 3, 6, 8});
  h.builder.pad(x, out, {0, 0, -1, 2}, 7);
  h.builder.pad(h.make({0, 2}), h.make({0, 3}), {0, 1}, 0);
  const auto p = h.builder.build();
  REQUIRE(count<pad_step>(p) == 1);
  const auto& s = std::get<pad_step>(p.steps.front());
  CHECK(s.word == 4);
  CHECK(s.args.filler == 7);
  CHECK(s.args.count == 2 * 3 * 6 * 8);
  REQUIRE(s.args.walk.dims == 4);  // batch, then 6 of 4, 8 of 5, 3 of 3
  const uint32_t to[] = {2, 6, 8, 3}, from[] = {2, 4, 5, 3};
  const int64_t before[] = {0, -1, 2, 0}, steps[] = {60, 5, 1, 20};
  for (size_t d = 0; d < 4; ++d) {
    CHECK(s.args.walk.extent[d] == to[d]);
    CHECK(s.args.extent[d] == from[d]);
    CHECK(s.args.before[d] == before[d]);
    CHECK(s.args.steps.step[d] == steps[d]);
  }
}
