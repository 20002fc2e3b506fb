#include "tools/commands/check_config.hpp"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/config/cluster_text.hpp"
#include "tests/temporary_folder.hpp"

using namespace troupe;

namespace {

const std::string quickstart = TROUPE_EXAMPLES "/quickstart/cluster.toml";
const std::string absent = "/nowhere/cluster.toml";

struct run {
  std::ostringstream out, err;
  int code;
  template <class F>
  run(F f, const std::string& path, bool json) : code(f(path, json, out, err)) {}
};

}  // namespace

TEST_CASE("check prints one line for a valid cluster") {
  const run r{check_config, quickstart, false};
  CHECK(r.code == 0);
  CHECK(r.err.str() == "");
  CHECK(r.out.str() ==
        quickstart + ": ok: 2 nodes, 3 models, 1 slot, hash " + read_cluster(quickstart).spec.hash + "\n");
}

TEST_CASE("check and dump show language models") {
  const temporary_folder folder;
  std::filesystem::copy(TROUPE_FIXTURES "/llama-tasks/base", folder / "base");
  const auto file = folder.write("cluster.toml", R"(name = "texts"
[[node]]
name = "all"
roles = ["gateway", "scheduler", "worker"]
control_port = 7701
http_port = 8080
[[llm]]
name = "tasks"
model = "base"
)");
  const run r{check_config, file, false};
  CHECK(r.err.str() == "");
  CHECK(r.out.str() == file.string() + ": ok: 1 node, 0 models, 1 language model, 0 slots, hash " +
                           read_cluster(file).spec.hash + "\n");
  const auto checked = nlohmann::json::parse(run{check_config, file, true}.out.str());
  CHECK(checked["models"] == 0);
  CHECK(checked["language_models"] == 1);
  const auto dump = nlohmann::json::parse(run{dump_config, file, true}.out.str());
  CHECK(dump["llm"][0]["model"]["value"] == (folder / "base").string());
  CHECK(dump["llm"][0]["model"]["origin"] == file.string() + ":9:9");
  CHECK(dump["llm"][0]["node"]["value"] == "all");
  CHECK(dump["llm"][0]["kv_mb"]["value"] == 256);
}

TEST_CASE("check reports problems to the error stream and exits with 2") {
  const run r{check_config, absent, false};
  CHECK(r.code == 2);
  CHECK(r.out.str() == "");
  CHECK(r.err.str() == absent + ": cannot be read: No such file or directory\n");
}

TEST_CASE("check reads the files of models, and warns of a chat template that is not supported") {
  const temporary_folder folder;
  std::filesystem::copy(TROUPE_FIXTURES "/llama-tasks/base", folder / "base");
  folder.write("base/chat_template.jinja", "{{ messages }}\n{% include 'other' %}");
  folder.write("model.onnx", "no model");
  const auto file = folder.write("cluster.toml", R"(name = "texts"
[[node]]
name = "all"
roles = ["gateway", "scheduler", "worker"]
control_port = 7701
http_port = 8080
[[llm]]
name = "tasks"
model = "base"
)");
  const auto template_file = (folder / "base/chat_template.jinja").string();
  const run warned{check_config, file, false};
  CHECK(warned.code == 0);
  CHECK(warned.out.str().find(": ok: ") != std::string::npos);
  CHECK(warned.err.str().starts_with(file.string() + ":9:9: warning: llm.model: " + template_file +
                                     ": tag 'include' is not supported (line 2, "));
  const auto as_json = nlohmann::json::parse(run{check_config, file, true}.out.str());
  CHECK(as_json["ok"] == true);
  REQUIRE(as_json["warnings"].size() == 1);
  CHECK(as_json["warnings"][0].get<std::string>().starts_with(file.string() + ":9:9: llm.model: "));

  std::ofstream(file, std::ios::app) << R"([[node.device]]
kind = "cpu"
[[model]]
name = "m"
slo_ms = 50
source = "model.onnx"
)";
  std::ofstream(folder / "base/config.json") << "{}";
  const run refused{check_config, file, false};
  CHECK(refused.code == 2);
  CHECK(refused.out.str() == "");
  const auto said = refused.err.str();
  CHECK(said.find(file.string() + ":15:10: model.source: " + (folder / "model.onnx").string() +
                  ": not an ONNX model (damaged or truncated)\n") != std::string::npos);
  CHECK(said.find(file.string() + ":9:9: llm.model: " + (folder / "base/config.json").string()) !=
        std::string::npos);
}

TEST_CASE("check as JSON is one document either way") {
  const auto good = nlohmann::json::parse(run{check_config, quickstart, true}.out.str());
  CHECK(good["ok"] == true);
  CHECK(good["nodes"] == 2);
  CHECK(good["problems"].empty());
  const run r{check_config, absent, true};
  CHECK(r.code == 2);
  CHECK(r.err.str() == "");
  const auto bad = nlohmann::json::parse(r.out.str());
  CHECK(bad["ok"] == false);
  CHECK(bad["problems"][0]["text"] == "cannot be read: No such file or directory");
}

TEST_CASE("dump prints TOML that reads back, or JSON with origins") {
  const run toml{dump_config, quickstart, false};
  CHECK(toml.code == 0);
  CHECK(read_cluster_text(toml.out.str(), "dump.toml", "/elsewhere").spec.hash ==
        read_cluster(quickstart).spec.hash);
  const auto json = nlohmann::json::parse(run{dump_config, quickstart, true}.out.str());
  CHECK(json["policy"]["network_control_us"]["value"] == 200);
  CHECK(json["policy"]["network_control_us"]["origin"] == "default");
  CHECK(json["node"][0]["name"]["value"] == "head");
  CHECK(json["node"][0]["name"]["origin"] == quickstart + ":14:8");
}

TEST_CASE("dump of a bad file reports its problems and prints nothing") {
  const run r{dump_config, absent, false};
  CHECK(r.code == 2);
  CHECK(r.out.str() == "");
  CHECK(r.err.str() != "");
}
