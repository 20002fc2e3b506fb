#include "tools/node/model_files.hpp"

#include <filesystem>
#include <string>

#include "tests/config/cluster_text.hpp"
#include "tests/temporary_folder.hpp"

using namespace troupe;

namespace {

const std::string base = TROUPE_FIXTURES "/llama-tasks/base";

std::string with_llm(const std::string& folder, const std::string& more = "") {
  return std::string(good_cluster) + "[[llm]]\nname = \"l\"\nnode = \"worker\"\nmodel = \"" + folder +
         "\"\n" + more;
}

std::string serving_file(const std::string& device, const std::string& file) {
  const auto text = changed(good_cluster, "kind = \"emulated\"", "kind = \"" + device + "\"");
  return changed(text, "slo_ms = 20", "slo_ms = 20\nsource = \"" + file + "\"");
}

model_file_findings findings(const std::string& text) {
  const auto cluster = read(text);
  REQUIRE_MESSAGE(cluster.ok(), listed(cluster.problems));
  return check_model_files(cluster);
}

}  // namespace

TEST_CASE("model files: models that nodes load have no findings") {
  for (const auto* device : {"emulated", "cpu"}) {
    const auto found = findings(serving_file(device, "mlp.onnx"));
    CHECK(listed(found.problems) == "");
    CHECK(found.warnings.empty());
  }
  const auto found = findings(with_llm(base));
  CHECK(listed(found.problems) == "");
  CHECK(found.warnings.empty());
}

TEST_CASE("model files: an ONNX file that workers refuse is a problem at its source") {
  const temporary_folder folder;
  const auto file = folder.write("m.onnx", "no model").string();
  for (const auto* device : {"emulated", "cpu"})
    CHECK(listed(findings(serving_file(device, file)).problems) ==
          "cluster.toml:21:10: model.source: " + file + ": not an ONNX model (damaged or truncated)\n");
}

TEST_CASE("model files: images must fit the input of their model") {
  const auto with_crop = [](const std::string& keys) {
    return listed(findings(changed(serving_file("cpu", "resnet_a.onnx"), "slo_ms = 20\n",
                                   "slo_ms = 20\npreprocess = { decode = \"image\", " + keys + " }\n"))
                      .problems);
  };
  CHECK(with_crop("crop = 32") == "");
  const auto file = std::string(TROUPE_FIXTURES "/onnx/resnet_a.onnx");
  CHECK(with_crop("crop = [32, 33]") == "cluster.toml:22:10: model.source: " + file +
                                            ": preprocess gives rows of shape [3,32,33], and input 'input' "
                                            "has the shape [3,32,32]; change crop, "
                                            "resize, channels or layout\n");
  CHECK(with_crop("crop = 32, input = \"data\"") ==
        "cluster.toml:22:10: model.source: " + file +
            ": preprocess.input = 'data' is no input: the model takes 'input'\n");
}

TEST_CASE("model files: each file of a checkpoint is read, weights only for devices that load them") {
  const auto said = [](const std::string& broken, const std::string& content, const std::string& more = "") {
    const temporary_folder folder;
    std::filesystem::copy(base, folder / "base");
    folder.write("base/" + broken, content);
    return listed(findings(with_llm((folder / "base").string(), more)).problems);
  };
  for (const auto* name : {"config.json", "tokenizer.model", "tokenizer.json", "tokenizer_config.json"}) {
    const auto problem = said(name, "{");
    CHECK(problem.starts_with("cluster.toml:25:9: llm.model: "));
    CHECK(problem.find(name) != std::string::npos);
  }
  CHECK(said("model.safetensors", "{").find("model.safetensors: has 1 bytes") != std::string::npos);
  const std::string emulated =
      "device = \"emulated\"\nprofile = \"" TROUPE_EXAMPLES "/profiles/punica-7b-a100.toml\"\n";
  CHECK(said("model.safetensors", "{", emulated) == "");
}

TEST_CASE("model files: problems are in the order of the cluster file") {
  const temporary_folder folder;
  std::filesystem::copy(base, folder / "base");
  folder.write("base/config.json", "{}");
  const auto file = folder.write("m.onnx", "no model").string();
  auto text = serving_file("cpu", file);
  const auto model = text.substr(text.find("[[model]]"));
  text.erase(text.find("[[model]]"));
  const auto llm = with_llm((folder / "base").string()).substr(good_cluster.size());
  const auto found = findings(text + llm + model);
  REQUIRE(found.problems.size() == 2);
  CHECK(found.problems[0].text.starts_with("llm.model: "));
  CHECK(found.problems[1].text.starts_with("model.source: "));
}

TEST_CASE("model files: a chat template that is not supported is a warning with its line") {
  const temporary_folder folder;
  std::filesystem::copy(base, folder / "base");
  const auto file = folder.write("base/chat_template.jinja", "\n\n{{ 1 | shuffle }}").string();
  const auto found = findings(with_llm((folder / "base").string()));
  CHECK(found.problems.empty());
  REQUIRE(found.warnings.size() == 1);
  CHECK(to_string(found.warnings[0])
            .starts_with("cluster.toml:25:9: llm.model: " + file +
                         ": filter 'shuffle' is not supported (line 3"));
}
