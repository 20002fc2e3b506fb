#include "config/model_shapes.hpp"

#include "tests/config/cluster_text.hpp"

using namespace troupe;

namespace {

/// A cluster whose first model comes from a file, for a CPU.
cluster_reading with_keys(const std::string& keys) {
  auto text = changed(good_cluster, "\"emulated\"\ncount = 2", "\"cpu\"");
  return read(
      changed(text, "profile = { alpha_ms = 1, beta_ms = 5 }", "source = \"mlp.onnx\"\n" + keys + "\n"));
}

std::string problem_with(const std::string& keys) { return listed(with_keys(keys).problems); }

bool says(const std::string& keys, std::string_view part) {
  const auto text = problem_with(keys);
  INFO(text);
  return text.find(part) != std::string::npos;
}

const model_spec& model_named(const cluster_spec& cluster, std::string_view name) {
  for (const auto& m : cluster.models)
    if (m.name == name) return m;
  FAIL("no model " << name);
  return cluster.models.front();
}

}  // namespace

TEST_CASE("each shape of a model is a model of its own") {
  const auto plain = with_keys("");
  const auto cluster = with_keys("shapes = [ { x = [3, 320] }, { x = [3, 640] } ]\nmax_batch = 4");
  REQUIRE(listed(cluster.problems) == "");
  const auto& spec = cluster.spec;
  CHECK(spec.models.size() == plain.spec.models.size() + 1);
  CHECK(cluster.model_places.size() == spec.models.size());
  REQUIRE(spec.shaped_models.size() == 1);
  const auto& whole = spec.shaped_models[0];
  CHECK(whole.name == plain.spec.models[0].name);
  CHECK_FALSE(whole.padding);
  REQUIRE(whole.shapes.size() == 2);
  const auto& second = spec.models[whole.shapes[1].value];
  CHECK(second.name == whole.name + "@3x640");
  CHECK(second.shapes == std::vector<input_shape>{{"x", {3, 640}}});
  CHECK(second.max_batch == 4);
  CHECK(spec.hash != with_keys("shapes = [ { x = [3, 320] }, { x = [3, 641] } ]\nmax_batch = 4").spec.hash);
}

TEST_CASE("a model of any shape runs requests one by one, unless max_batch says more") {
  const auto cluster = with_keys("any_shape = true");
  REQUIRE(listed(cluster.problems) == "");
  CHECK(cluster.spec.shaped_models.empty());
  const auto& m = cluster.spec.models[0];
  CHECK(m.any_shape);
  CHECK_FALSE(m.batched);
  CHECK(m.max_batch == 1);
  CHECK_FALSE(with_keys("any_shape = false").spec.models[0].any_shape);
  const auto together = with_keys("any_shape = true\nmax_batch = 4");
  REQUIRE(listed(together.problems) == "");
  CHECK(together.spec.models[0].any_shape);
  CHECK(together.spec.models[0].max_batch == 4);
  CHECK(says("any_shape = true\nbatching = \"none\"\nmax_batch = 4", "is 1 with batching = \"none\""));
  CHECK(says("any_shape = true\nengine = \"native\"", "needs OpenVINO"));
  CHECK(says("any_shape = true\npreprocess = { decode = \"image\", resize = [4, 4] }", "no any_shape"));
}

TEST_CASE("the shape of a constant does not hinder a model of any shape") {
  const auto cluster = with_keys("any_shape = true\nshapes = { sr = [1] }\nconstants = { sr = 16000 }");
  REQUIRE(listed(cluster.problems) == "");
  CHECK(cluster.spec.shaped_models.empty());
  CHECK(cluster.spec.models[0].any_shape);
  CHECK(cluster.spec.models[0].shapes == std::vector<input_shape>{{"sr", {1}}});
}

TEST_CASE("beside the shapes of a model, one takes all others") {
  const auto cluster = with_keys("shapes = { x = [3, 320] }\nany_shape = true\nmax_batch = 4\nweight = 6");
  REQUIRE(listed(cluster.problems) == "");
  const auto& spec = cluster.spec;
  REQUIRE(spec.shaped_models.size() == 1);
  const auto& whole = spec.shaped_models[0];
  REQUIRE(whole.any_shape);
  const auto &declared = spec.models[whole.shapes[0].value], &any = spec.models[whole.any_shape->value];
  CHECK(declared.name == whole.name + "@3x320");
  CHECK_FALSE(declared.any_shape);
  CHECK(declared.max_batch == 4);
  CHECK(declared.weight == 3);
  CHECK(any.name == whole.name + "@any");
  CHECK(any.any_shape);
  CHECK(any.shapes.empty());
  CHECK(any.max_batch == 4);
  CHECK(any.weight == 3);
  const auto padded =
      with_keys("any_shape = true\npad = { axis = 1, to = [4, 8], inputs = { ids = 0 } }").spec;
  CHECK(padded.shaped_models[0].shapes.size() == 2);
  CHECK(padded.models[padded.shaped_models[0].any_shape->value].any_shape);
}

TEST_CASE("padding makes a shape for each length") {
  const auto cluster =
      with_keys("pad = { axis = 1, to = [64, 16], inputs = { input_ids = 1, attention_mask = 0 } }");
  REQUIRE(listed(cluster.problems) == "");
  REQUIRE(cluster.spec.shaped_models.size() == 1);
  const auto& whole = cluster.spec.shaped_models[0];
  REQUIRE(whole.padding);
  CHECK(whole.padding->axis == 1);
  CHECK(whole.padding->lengths == std::vector<uint32_t>{16, 64});
  const auto& shorter = cluster.spec.models[whole.shapes[0].value];
  CHECK(shorter.name == whole.name + "@16");
  REQUIRE(find_input(shorter.shapes, "input_ids") != nullptr);
  CHECK(find_input(shorter.shapes, "input_ids")->dims == std::vector<int64_t>{16});
  REQUIRE(find_input(whole.padding->inputs, "input_ids") != nullptr);
  CHECK(find_input(whole.padding->inputs, "input_ids")->value == 1);
}

TEST_CASE("padding of one input may say its name and value apart") {
  const auto one = with_keys("pad = { axis = 1, to = [32, 64], input = \"ids\", value = 3 }");
  REQUIRE(listed(one.problems) == "");
  const auto& padding = one.spec.shaped_models.at(0).padding;
  REQUIRE(padding);
  REQUIRE(padding->inputs.size() == 1);
  CHECK(padding->inputs[0].name == "ids");
  CHECK(padding->inputs[0].value == 3);
  const auto plain = with_keys("pad = { axis = 1, to = [32, 64], input = \"ids\" }");
  CHECK(plain.spec.shaped_models.at(0).padding->inputs.at(0).value == 0);
  CHECK(says("pad = { axis = 1, to = [4, 8], input = \"ids\", inputs = { ids = 0 } }",
             "remove one of the two"));
  CHECK(says("pad = { axis = 1, to = [4, 8], value = 1, inputs = { ids = 0 } }", "is for one `input`"));
}

TEST_CASE("padding keeps the other dimensions, and the inputs without padding") {
  const auto cluster =
      with_keys("shapes = { x = [80, 1], y = [7] }\npad = { axis = 2, to = [10, 20], inputs = { x = 0 } }");
  REQUIRE(listed(cluster.problems) == "");
  const auto& m = model_named(cluster.spec, cluster.spec.shaped_models[0].name + "@20");
  CHECK(find_input(m.shapes, "x")->dims == std::vector<int64_t>{80, 20});
  CHECK(find_input(m.shapes, "y")->dims == std::vector<int64_t>{7});
}

TEST_CASE("without rows the axis counts from the first dimension") {
  const auto cluster = with_keys("batching = \"none\"\npad = { axis = 0, to = [4, 8], inputs = { x = 0 } }");
  REQUIRE(listed(cluster.problems) == "");
  CHECK(model_named(cluster.spec, cluster.spec.shaped_models[0].name + "@8").shapes ==
        std::vector<input_shape>{{"x", {8}}});
}

TEST_CASE("shapes and padding that make no sense are refused") {
  CHECK(says("shapes = [ { x = [3] }, { x = [3] } ]", "a shape twice"));
  CHECK(says("shapes = [ { x = [3] }, { y = [4] } ]", "for the same inputs"));
  CHECK(says("shapes = [ { x = [3] }, {} ]", "for the same inputs"));
  CHECK(says("shapes = [ {}, {} ]", "a shape of no input"));
  CHECK(says("shapes = [ { x = [3.5] }, { x = [4] } ]", "no whole number"));
  CHECK(says("shapes = 3", "must be written as [["));
  CHECK(says("pad = { axis = 1, to = [64], inputs = { x = 0 } }", "2 to 64 lengths"));
  CHECK(says("pad = { axis = 1, to = [64, 64], inputs = { x = 0 } }", "a length twice"));
  CHECK(says("pad = { axis = 0, to = [4, 8], inputs = { x = 0 } }", "1..31"));
  CHECK(says("pad = { axis = 1, to = [4, 8] }", "table of the inputs to pad"));
  CHECK(says("pad = { axis = 2, to = [4, 8], inputs = { x = 0 } }", "is no dimension of 'x'"));
  CHECK(says("shapes = [ { x = [3] }, { x = [4] } ]\npad = { axis = 1, to = [4, 8], inputs = { x = 0 } }",
             "one shape at most"));
}

TEST_CASE("images have one shape") {
  CHECK(
      says("shapes = [ { x = [3, 8, 8] }, { x = [3, 9, 9] } ]\n"
           "preprocess = { decode = \"image\", resize = [8, 8] }",
           "makes images of one shape"));
}
