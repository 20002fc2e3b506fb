#include "tools/commands/served_paths.hpp"

#include <doctest/doctest.h>

#include <stdexcept>

#include "config/cluster_file.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/tools/commands/onnx_files.hpp"
#include "tools/commands/served_file.hpp"

using namespace troupe;

namespace {

const std::filesystem::path fixtures(TROUPE_FIXTURES);
const auto tasks = fixtures / "llama-tasks";

std::vector<std::string> names(const serving_plan& p) {
  std::vector<std::string> out;
  for (const auto& m : p.models) out.push_back(m.name);
  return out;
}

/// What the cluster file says; it has no problems.
cluster_spec spec_of(const serving_plan& p) {
  const auto reading = read_cluster_text(p.cluster_file, "serve", "/");
  for (const auto& problem : reading.problems) FAIL_CHECK(to_string(problem));
  return reading.spec;
}

std::string error_of(const std::vector<std::string>& paths, const std::vector<std::string>& shapes = {}) {
  try {
    plan_serving({.paths = paths, .shapes = shapes});
    return "none";
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
}

}  // namespace

TEST_CASE("served paths: files, a checkpoint and its adapters are one node") {
  const auto plan = plan_serving({.paths = {fixtures / "onnx/mlp.onnx", tasks / "base", tasks / "adapters"},
                                  .port = 9000,
                                  .threads = 2,
                                  .kv_mb = 16});
  CHECK(names(plan) == std::vector<std::string>{"mlp", "base", "reverse", "rot13", "sort", "upper"});
  CHECK(plan.models[0].task == served_task::tensors);
  CHECK(plan.models[1].task == served_task::completions);
  const auto spec = spec_of(plan);
  REQUIRE(spec.nodes.size() == 1);
  CHECK(spec.nodes[0].http_port == 9000);
  CHECK(spec.slots[0].threads == 2);
  CHECK(spec.models[0].path == (fixtures / "onnx/mlp.onnx").string());
  CHECK(spec.models[0].batched);
  CHECK(spec.llms[0].kv_bytes == 16 << 20);
  CHECK(spec.llms[0].adapter_directory == (tasks / "adapters").string());
}

TEST_CASE("served paths: one adapter stands for its folder, a folder of files for its files") {
  const auto plan = plan_serving({.paths = {tasks / "adapters/sort", tasks / "base"}});
  CHECK(names(plan) == std::vector<std::string>{"base", "reverse", "rot13", "sort", "upper"});
  CHECK(spec_of(plan).slots.empty());
  const auto slashes = plan_serving({.paths = {tasks / "adapters/sort/", tasks / "base/"}});
  CHECK(slashes.cluster_file == plan.cluster_file);
  CHECK(names(plan_serving({.paths = {tasks / "adapters/.", tasks / "base/."}})) == names(plan));
  CHECK(names(plan_serving({.paths = {fixtures / "onnx"}})) ==
        std::vector<std::string>{"encoder", "inception", "mlp", "mobilenet", "resnet_a", "resnet_b"});
}

TEST_CASE("served paths: what cannot be served is named") {
  const temporary_folder folder;
  const auto file = folder.write("bad model.onnx", "text").string();
  CHECK(error_of({"/nowhere.onnx"}) == "/nowhere.onnx: does not exist");
  CHECK(error_of({file}).starts_with(file + ": "));
  CHECK(error_of({folder.path.string()}).starts_with(file + ": "));
  std::filesystem::remove(file);
  CHECK(error_of({folder.path.string()}).find("has no model") != std::string::npos);
  CHECK(error_of({tasks / "adapters"}).find("need one checkpoint beside them, and there are 0") !=
        std::string::npos);
  const auto mlp = (fixtures / "onnx/mlp.onnx").string();
  CHECK(error_of({mlp, mlp}) == "two models have the name 'mlp'; rename the file or the folder of one");
}

TEST_CASE("served paths: encoders have lengths up to what they take, and say what they answer") {
  const auto plan =
      plan_serving({.paths = {fixtures / "encoders/xlmr", fixtures / "encoders/cross-encoder"}});
  CHECK(plan.models[0].task == served_task::embeddings);
  CHECK(plan.models[1].task == served_task::scores);
  const auto spec = spec_of(plan);
  REQUIRE(spec.encoders.size() == 2);
  CHECK(spec.encoders[0].path == (fixtures / "encoders/xlmr").string());
  std::vector<uint32_t> lengths;
  for (const auto& l : spec.encoders[0].lengths) lengths.push_back(l.tokens);
  CHECK(lengths == std::vector<uint32_t>{32, 64, 126});
  CHECK(spec.models[spec.encoders[1].lengths[0].model.value].name == "cross-encoder@32");
}

TEST_CASE("served paths: an ONNX file beside a tokenizer is an encoder, the file alone a tensor model") {
  const temporary_folder folder;
  write_relu(folder / "words/onnx/model.onnx", {-1, 2});
  folder.write("words/tokenizer.json", "{}");
  folder.write("words/config.json", R"({"model_type": "roformer"})");
  const auto plan =
      plan_serving({.paths = {(folder / "words").string(), (folder / "words/onnx/model.onnx").string()}});
  CHECK(names(plan) == std::vector<std::string>{"model", "words"});
  CHECK(plan.models[0].task == served_task::tensors);
  CHECK(plan.models[1].task == served_task::embeddings);
  folder.write("words/config.json", R"({"architectures": ["RoFormerForSequenceClassification"]})");
  CHECK(plan_serving({.paths = {(folder / "words").string()}}).models[0].task == served_task::scores);
}

TEST_CASE("served paths: a repository of Triton is the models of its folders, beside ONNX files") {
  const temporary_folder folder;
  write_relu(folder / "m/1/model.onnx", {-1, -1});
  write_relu(folder / "a b/3/model.onnx", {-1, 2});
  write_relu(folder / "plain.onnx", {-1, 2});
  std::filesystem::create_directories(folder / "empty/1");
  folder.write("m/config.pbtxt", "max_batch_size: 4 input { name: \"x\" dims: [ 2 ] } runtime: \"r\"");
  const auto plan = plan_serving({.paths = {folder.path.string()}});
  CHECK(names(plan) == std::vector<std::string>{"plain", "a_b", "m"});
  CHECK(plan.notes ==
        std::vector<std::string>{(folder / "a b").string() + ": has the name 'a_b'",
                                 (folder / "m/config.pbtxt").string() +
                                     ":1:51: runtime has no effect: it names a library of Triton"});
  const auto spec = spec_of(plan);
  REQUIRE(spec.models.size() == 3);
  CHECK(spec.models[1].path == (folder / "a b/3/model.onnx").string());
  CHECK(spec.models[2].max_batch == 4);
  CHECK(spec.models[2].shapes == std::vector<input_shape>{{"x", {2}}});
  CHECK(names(plan_serving({.paths = {(folder / "m/").string()}})) == std::vector<std::string>{"m"});
}

#ifdef TROUPE_OPENVINO
TEST_CASE("served paths: a file with free dimensions takes any shape") {
  const temporary_folder folder;
  const auto file = folder / "words.onnx";
  write_relu(file, {-1, -1, 4});
  const auto plan = plan_serving({.paths = {file}});
  CHECK(plan.cluster_file.find("any_shape = true") != std::string::npos);
  CHECK(spec_of(plan).models[0].any_shape);
  CHECK(spec_of(plan).models[0].max_batch == 1);
}

TEST_CASE("served paths: a file with free dimensions may say which one is for batches") {
  const temporary_folder folder;
  const auto file = folder / "words.onnx";
  for (const auto* name : {"batch_size", "Batch", "N"}) {
    write_relu(file, {-1, -1, 4}, name);
    const auto m = spec_of(plan_serving({.paths = {file}})).models[0];
    CHECK(m.any_shape);
    CHECK(m.max_batch == (std::string_view(name) == "N" ? 1 : batch_of_any_shape));
  }
}
#endif

TEST_CASE("served paths: --shape gives an input that a file leaves open its shape") {
  const temporary_folder folder;
  const auto file = folder / "net.onnx";
  write_relu(file, {-1, -1, 4});
  const auto spec = spec_of(plan_serving({.paths = {file}, .shapes = {"x=3x4"}}));
  CHECK(spec.models[0].batched);
  CHECK(spec.models[0].shapes == std::vector<input_shape>{{"x", {3, 4}}});
  CHECK(error_of({file}, {"x=5x5"}) ==
        "--shape x=5x5: the input has the shape [-1,-1,4] in " + file.string() +
            "; give all of its dimensions, or all but the first if that is for batches");
  CHECK(error_of({file}, {"x=3x4", "z=1"}) == "--shape z=...: no ONNX model of the paths has an input 'z'");
  CHECK(error_of({file}, {"x"}) == "--shape x: must be NAME=..., the name of an input and a value");
  CHECK(error_of({file}, {"x=3x4", "x=3x5"}) == "--shape x=...: is given twice; give one shape of an input");
}
