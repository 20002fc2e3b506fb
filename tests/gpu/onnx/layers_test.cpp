#include "gpu/onnx/layers.hpp"

#include <doctest/doctest.h>

#include <cstring>

#include "gpu/common/fnv.hpp"
#include "tests/gpu/onnx/fixtures.hpp"
#include "tests/gpu/onnx/graphs.hpp"

using namespace troupe;
using namespace troupe::onnx;

namespace {

node matmul(const std::string& in, const std::string& w, const std::string& out) {
  return {out, "MatMul", {in, w}, {out}, {}};
}

std::map<std::string, tensor, std::less<>> some_weights() {
  std::mt19937 random(61);
  return {
      {"w", random_floats(random, {4, 4})}, {"v", random_floats(random, {4, 4})}, {"one", floats({}, {1})}};
}

}  // namespace

TEST_CASE("layers cover all nodes without gaps, and all but the first have an input activation") {
  for (const auto& name : fixture_names) {
    CAPTURE(name);
    const auto m = model::load(fixture_path(name));
    size_t node = 0, bytes = 0;
    for (size_t i = 0; i < m->layers().size(); ++i) {
      const auto& l = m->layers()[i];
      CHECK(l.first_node == node);
      CHECK(l.end_node > node);
      CHECK(l.activation.empty() == (i == 0));
      CHECK_FALSE(l.parameters.empty());
      CHECK(m->parameters(i)->size() == l.bytes);
      CHECK(fnv1a(m->parameters(i)->span()) == l.hash);
      node = l.end_node;
      bytes += l.bytes;
    }
    CHECK(node == m->program().nodes.size());
    CHECK(bytes == m->parameter_bytes());
  }
}

TEST_CASE("a transformer is cut into at least six layers") {
  CHECK(model::load(fixture_path("encoder"))->layers().size() >= 6);
}

TEST_CASE("a chain is cut before each product, and other nodes stay in the layer before it") {
  auto g = make_graph({4}, {matmul("x", "w", "a"), {"r", "Relu", {"a"}, {"r"}, {}}, matmul("r", "v", "y")},
                      {"y"}, some_weights());
  const auto cut = cut_into_layers(g);
  REQUIRE(cut.layers.size() == 2);
  CHECK(cut.layers[0].end_node == 2);
  CHECK(cut.layers[1].activation == "r");
  CHECK_FALSE(g.constants.contains("w"));  // moved into the blob
  CHECK(g.constants.contains("one"));      // a scalar belongs to the graph
}

TEST_CASE("a boundary with two activations is not cut") {
  auto g =
      make_graph({4}, {matmul("x", "w", "a"), matmul("a", "v", "b"), {"y", "Add", {"a", "b"}, {"y"}, {}}},
                 {"y"}, some_weights());
  CHECK(cut_into_layers(g).layers.size() == 2);  // only a crosses the boundary before b
  auto h =
      make_graph({4}, {matmul("x", "w", "a"), matmul("a", "v", "b"), {"y", "Add", {"x", "b"}, {"y"}, {}}},
                 {"y"}, some_weights());
  CHECK(cut_into_layers(h).layers.size() == 1);  // x crosses every boundary
}

TEST_CASE("an early output of the graph prevents cuts behind it") {
  auto g = make_graph({4}, {matmul("x", "w", "a"), matmul("a", "v", "b"), matmul("b", "v", "y")}, {"a", "y"},
                      some_weights());
  CHECK(cut_into_layers(g).layers.size() == 2);
}

TEST_CASE("a parameter of two layers is in both blobs, unchanged") {
  const auto constants = some_weights();
  auto g =
      make_graph({4}, {matmul("x", "w", "a"), matmul("a", "w", "b"), {"y", "Add", {"b", "one"}, {"y"}, {}}},
                 {"y"}, constants);
  const auto cut = cut_into_layers(g);
  REQUIRE(cut.layers.size() == 2);
  for (size_t i = 0; i < 2; ++i) {
    REQUIRE(cut.layers[i].parameters.size() == 1);
    CHECK(cut.layers[i].bytes == 64);
    CHECK(std::memcmp(cut.blobs[i]->data(), constants.at("w").data->data(), 64) == 0);
  }
}

TEST_CASE("values that depend only on shapes are not activations") {
  auto g = make_graph({4},
                      {{"s", "Shape", {"x"}, {"s"}, {}},
                       {"c", "Cast", {"s"}, {"c"}, {{"to", int64_t{1}}}},
                       matmul("x", "w", "a"),
                       {"m", "Mul", {"a", "c"}, {"m"}, {}}},
                      {"m"}, some_weights());
  const auto known = shape_values(g);
  CHECK(known.contains("s"));
  CHECK(known.contains("c"));
  CHECK_FALSE(known.contains("a"));
  CHECK_FALSE(known.contains("m"));
}
