#include "gpu/onnx/fusion.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "gpu/onnx/executor.hpp"
#include "gpu/onnx/loader.hpp"
#include "gpu/onnx/model.hpp"
#include "gpu/onnx/plan.hpp"
#include "gpu/onnx/weights.hpp"
#include "tests/gpu/onnx/fixtures.hpp"
#include "tests/gpu/onnx/graphs.hpp"

using namespace troupe;
using namespace troupe::onnx;

namespace {

using constants = std::map<std::string, tensor, std::less<>>;

constants some_constants() {
  std::mt19937 random(71);
  constants c;
  for (const std::string name : {"w", "v"}) c[name] = random_floats(random, {8, 8, 3, 3}, -0.3F, 0.3F);
  for (const std::string name : {"bias", "scale", "shift", "mean"}) c[name] = random_floats(random, {8});
  c["variance"] = random_floats(random, {8}, 0.5F, 2);
  c["per_channel"] = random_floats(random, {8, 1, 1});
  return c;
}

node conv(const std::string& in, const std::string& w, const std::string& out) {
  return {out, "Conv", {in, w}, {out}, {{"pads", shape{1, 1, 1, 1}}}};
}

node norm(const std::string& in, const std::string& out) {
  return {out, "BatchNormalization", {in, "scale", "shift", "mean", "variance"}, {out}, {}};
}

node simple(const std::string& op, std::vector<std::string> in, const std::string& out) {
  return {out, op, std::move(in), {out}, {}};
}

std::shared_ptr<const model> built(std::vector<node> nodes, const std::vector<std::string>& outputs,
                                   fusion f) {
  return std::make_shared<const model>(make_graph({8, 5, 6}, std::move(nodes), outputs, some_constants()), f);
}

/// Remaining nodes and parameters.
struct fused_size {
  size_t nodes, parameters;
};

fused_size size_of_fused(const std::vector<node>& nodes, const std::vector<std::string>& outputs) {
  const auto m = built(nodes, outputs, fusion::on);
  size_t parameters = 0;
  for (const auto& l : m->layers()) parameters += l.parameters.size();
  return {m->program().nodes.size(), parameters};
}

/// Runs a graph with and without fusion and checks that the results agree up to rounding. Runs twice, so that
/// a step that overwrites a value that is still needed is detected.
void check_same(const std::vector<node>& nodes, const std::vector<std::string>& outputs) {
  std::mt19937 random(72);
  const auto fused = built(nodes, outputs, fusion::on), plain = built(nodes, outputs, fusion::off);
  executor a(fused, load_weights(*fused)), b(plain, load_weights(*plain));
  for (int i = 0; i < 2; ++i) {
    const activation in{random_floats(random, {3, 8, 5, 6})};
    const auto got = a.run({0, fused->layers().size()}, in);
    const auto expected = b.run({0, plain->layers().size()}, in);
    REQUIRE(got.size() == outputs.size());
    for (size_t k = 0; k < got.size(); ++k) CHECK(difference(values(got[k]), values(expected[k])) < 1e-5);
  }
}

}  // namespace

TEST_CASE("fusion changes no output of a fixture beyond rounding") {
  for (const auto& name : fixture_names) {
    CAPTURE(name);
    const fixture f(name);
    const auto plain = std::make_shared<const model>(load_graph(fixture_path(name)), fusion::off);
    executor fused(f.loaded, load_weights(*f.loaded)), unfused(plain, load_weights(*plain));
    for (const uint32_t rows : {1U, 8U}) {
      CHECK(relative_l2(run_rows(fused, f, rows), run_rows(unfused, f, rows)) < 1e-6);
    }
  }
}

TEST_CASE("a normalisation after a convolution is folded into its weights") {
  const std::vector<node> nodes{conv("x", "w", "a"), norm("a", "b"), simple("Relu", {"b"}, "y")};
  CHECK(size_of_fused(nodes, {"y"}).nodes == 2);
  CHECK(size_of_fused(nodes, {"y"}).parameters == 2);  // weights and bias
  check_same(nodes, {"y"});
}

TEST_CASE("consecutive per-channel constants are folded") {
  const std::vector<node> nodes{conv("x", "w", "a"), simple("Add", {"per_channel", "a"}, "b"), norm("b", "c"),
                                simple("Mul", {"c", "per_channel"}, "y")};
  CHECK(size_of_fused(nodes, {"y"}).nodes == 1);
  check_same(nodes, {"y"});
}

TEST_CASE("weights shared by two convolutions are folded for one only") {
  const std::vector<node> nodes{conv("x", "w", "a"), norm("a", "b"), conv("b", "w", "y")};
  CHECK(size_of_fused(nodes, {"y"}).nodes == 2);
  check_same(nodes, {"y"});
}

TEST_CASE("a value that is an output or has another reader prevents folding") {
  const std::vector<node> both{conv("x", "w", "a"), norm("a", "b")};
  CHECK(size_of_fused(both, {"a", "b"}).nodes == 2);
  check_same(both, {"a", "b"});
  const std::vector<node> read{conv("x", "w", "a"), norm("a", "b"), simple("Add", {"a", "b"}, "y")};
  CHECK(size_of_fused(read, {"y"}).nodes == 3);
  check_same(read, {"y"});
  check_same({conv("x", "w", "a"), simple("Relu", {"a"}, "b")}, {"a", "b"});
}

TEST_CASE("factors that vary within a channel are not folded") {
  auto g =
      make_graph({8, 5, 6}, {conv("x", "w", "a"), simple("Mul", {"a", "row"}, "y")}, {"y"}, some_constants());
  std::mt19937 random(73);
  g.constants["row"] = random_floats(random, {6});
  CHECK(model(g).program().nodes.size() == 2);
}

TEST_CASE("nodes without effect are removed, and outputs keep their names") {
  const std::vector<node> nodes{simple("Identity", {"x"}, "a"), simple("Dropout", {"a"}, "b"),
                                conv("b", "w", "c"), simple("Identity", {"c"}, "y")};
  CHECK(size_of_fused(nodes, {"y"}).nodes == 2);
  check_same(nodes, {"y"});
  check_same(nodes, {"c", "y"});
}

TEST_CASE("a residual is overwritten only by its last reader") {
  const auto block = [](const std::string& in, const std::string& out) {
    return std::vector<node>{conv(in, "w", out + "h"), simple("Relu", {out + "h"}, out + "r"),
                             conv(out + "r", "v", out + "c"), simple("Add", {out + "c", in}, out + "s"),
                             simple("Relu", {out + "s"}, out)};
  };
  auto nodes = block("x", "p");
  for (const auto& n : block("p", "q")) nodes.push_back(n);
  check_same(nodes, {"q"});
  check_same(nodes, {"p", "q"});  // p is a residual and an output
  nodes.push_back(simple("Mul", {"q", "p"}, "y"));
  check_same(nodes, {"y"});                                                  // p is read again after the sum
  check_same({conv("x", "w", "a"), simple("Add", {"a", "x"}, "y")}, {"y"});  // also the convolution's input
  check_same({conv("x", "w", "a"), simple("Identity", {"a"}, "i"), conv("a", "v", "b"),
              simple("Add", {"b", "a"}, "c"), simple("Mul", {"c", "i"}, "y")},
             {"y"});  // another name for it is read later
}

TEST_CASE("a fused residual saves the memory of the sum") {
  std::mt19937 random(75);
  auto c = some_constants();
  c["first"] = random_floats(random, {8, 1, 3, 3});
  const auto g = make_graph({1, 5, 6},
                            {conv("x", "first", "a"), conv("a", "w", "b"), conv("b", "v", "c"),
                             simple("Add", {"c", "a"}, "d"), simple("GlobalAveragePool", {"d"}, "y")},
                            {"y"}, c);
  const auto bytes = [&](fusion f) {
    const model m(g, f);
    weights w(m.layers());
    return make_plan(m, w, 8)->memory_bytes();
  };
  const size_t map = 8 * 8 * 5 * 6 * sizeof(float);
  CHECK(bytes(fusion::on) + map <= bytes(fusion::off));
}

TEST_CASE("concatenation, pooling and sigmoid of feature maps with odd channel counts are correct") {
  // a layout chosen by oneDNN for the joined maps made its sigmoid wrong
  std::mt19937 random(74);
  auto c = some_constants();
  c["p"] = random_floats(random, {8, 20, 1, 1});
  c["q"] = random_floats(random, {8, 16, 1, 1});
  const auto turned = [](const std::string& w, const std::string& out) {
    return node{out, "ConvTranspose", {"x", w}, {out}, {}};
  };
  auto g = make_graph({8, 5, 6},
                      {turned("p", "a"),
                       turned("q", "b"),
                       {"c", "Concat", {"b", "a"}, {"c"}, {{"axis", int64_t{1}}}},
                       simple("GlobalAveragePool", {"c"}, "pooled"),
                       simple("Sigmoid", {"pooled"}, "gate")},
                      {"pooled", "gate"}, c);
  const auto m = std::make_shared<const model>(std::move(g));
  executor e(m, load_weights(*m));
  const auto out = e.run({0, m->layers().size()}, {random_floats(random, {2, 8, 5, 6})});
  auto expected = values(out[0]);
  for (auto& v : expected) v = 1 / (1 + std::exp(-v));
  CHECK(difference(values(out[1]), expected) < 1e-6);
}
