#include "gpu/onnx/model.hpp"

#include <doctest/doctest.h>

#include <string>

#include "gpu/common/model_error.hpp"
#include "gpu/onnx/executor.hpp"
#include "tests/gpu/onnx/fixtures.hpp"
#include "tests/gpu/onnx/graphs.hpp"

using namespace troupe;
using namespace troupe::onnx;

namespace {

std::string error_of(graph g) {
  try {
    const model m(std::move(g));
    return "no error";
  } catch (const model_error& e) {
    return e.what();
  }
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("the signature omits the batch dimension") {
  const auto m = model::load(fixture_path("encoder"));
  CHECK(m->signature() ==
        model_signature{{{"input", data_type::int64, {16}}}, {{"output", data_type::fp32, {3}}}});
  const auto images = model::load(fixture_path("mobilenet"));
  CHECK(images->signature().inputs.at(0).shape == std::vector<int64_t>{3, 32, 32});
}

TEST_CASE("unsupported operators are named together, with the file, the nodes and what is supported") {
  const auto e = error_of(
      make_graph({4}, {{"first", "Loop", {"x"}, {"a"}, {}}, {"", "Einsum", {"a"}, {"b"}, {}}}, {"b"}));
  CHECK(contains(e, "test: operators that are not supported: node 'first' (Loop), node 'b' (Einsum)"));
  CHECK(contains(e, "LayerNormalization"));
}

TEST_CASE("the leading dimension of an input must be dynamic, and no other") {
  auto fixed = make_graph({4}, {{"r", "Relu", {"x"}, {"y"}, {}}}, {"y"});
  fixed.inputs[0].dims[0] = 1;
  CHECK(error_of(fixed) ==
        "test: input 'x' with shape [1, 4] has a fixed leading dimension: export the model with a dynamic "
        "batch dimension");
  const auto twice = make_graph({4, -1}, {{"r", "Relu", {"x"}, {"y"}, {}}}, {"y"});
  CHECK(contains(error_of(twice), "only the leading (batch) dimension may be dynamic"));
}

TEST_CASE("an output that does not keep the batch is refused") {
  const auto mean = make_graph({4}, {{"m", "ReduceMean", {"x"}, {"y"}, {}}}, {"y"});
  CHECK(contains(error_of(mean), "output 'y' has shape [1, 1] for a batch of 3"));
  const auto flat =
      make_graph({4}, {{"r", "Reshape", {"x", "s"}, {"y"}, {}}}, {"y"}, {{"s", ints({1}, {-1})}});
  CHECK(contains(error_of(flat), "output 'y' has shape [12]"));
}

TEST_CASE("an output without elements is refused") {
  const auto nothing = make_graph({4},
                                  {{"c", "Cast", {"x"}, {"n"}, {{"to", int64_t{7}}}},
                                   {"s", "Slice", {"n", "four", "four", "one"}, {"y"}, {}}},
                                  {"y"}, {{"four", ints({1}, {4})}, {"one", ints({1}, {1})}});
  CHECK(error_of(nothing) == "test: output 'y' has shape [3, 0] for a batch of 3: it would always be empty");
}

TEST_CASE("messages name the node: missing inputs, wrong attributes, second outputs") {
  CHECK(error_of(make_graph({4}, {{"a", "Add", {"x"}, {"y"}, {}}}, {"y"})) ==
        "test: node 'a' (Add) has 1 inputs");
  CHECK(contains(error_of(make_graph({4}, {{"s", "Softmax", {"x"}, {"y"}, {{"axis", 1.0F}}}}, {"y"})),
                 "test: node 's' (Softmax): attribute 'axis' is of the wrong type"));
  CHECK(contains(error_of(make_graph(
                     {4, 8}, {{"p", "MaxPool", {"x"}, {"y", "i"}, {{"kernel_shape", shape{2}}}}}, {"y"})),
                 "output 'i' is not supported"));
  CHECK(contains(error_of(make_graph({4}, {{"c", "Conv", {"x", ""}, {"y"}, {}}}, {"y"})),
                 "input 1 is missing"));
}

TEST_CASE("constants are folded, and nodes without a use are dropped") {
  const auto g = make_graph({4},
                            {{"n", "Sqrt", {"w"}, {"v"}, {}},
                             {"dead", "Relu", {"x"}, {"nobody"}, {}},
                             {"a", "Add", {"x", "v"}, {"y"}, {}}},
                            {"y"}, {{"w", floats({4}, {1, 4, 9, 16})}});
  const auto m = std::make_shared<const model>(g);
  CHECK(m->program().nodes.size() == 1);
  executor e(m, load_weights(*m));
  CHECK(values(e.run({0, 1}, {floats({1, 4}, {0, 0, 0, 0})}).at(0)) == std::vector<float>{1, 2, 3, 4});
}

TEST_CASE("a model may have several inputs and outputs of different types") {
  auto g = make_graph({2},
                      {{"c", "Cast", {"n"}, {"f"}, {{"to", int64_t{1}}}},
                       {"a", "Add", {"x", "f"}, {"y"}, {}},
                       {"u", "Unsqueeze", {"n", "axis"}, {"z"}, {}}},
                      {"y", "z"}, {{"axis", ints({1}, {1})}});
  g.inputs.push_back({"n", data_type::int64, {-1, 1}});
  const auto m = std::make_shared<const model>(std::move(g));
  CHECK(m->signature() == model_signature{{{"x", data_type::fp32, {2}}, {"n", data_type::int64, {1}}},
                                          {{"y", data_type::fp32, {2}}, {"z", data_type::int64, {1, 1}}}});
  executor e(m, load_weights(*m));
  struct {
    float x[4] = {1, 2, 3, 4};
    int64_t n[2] = {10, 20};
  } in;
  struct {
    float y[4] = {};
    int64_t z[2] = {};
  } out;
  const batch_part part{2, std::as_bytes(std::span{&in, 1}), std::as_writable_bytes(std::span{&out, 1})};
  e.run(2, {&part, 1});
  CHECK(std::vector<float>(out.y, out.y + 4) == std::vector<float>{11, 12, 23, 24});
  CHECK(out.z[1] == 20);
}
