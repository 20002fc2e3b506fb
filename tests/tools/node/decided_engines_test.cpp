#include "tools/node/decided_engines.hpp"

#include "tests/config/cluster_text.hpp"
#include "tests/temporary_folder.hpp"

using namespace troupe;

namespace {

constexpr node_id head{0}, worker{1};

cluster_spec with_source(const std::string& keys, const std::string& device = "cpu") {
  auto text = changed(good_cluster, "kind = \"emulated\"", "kind = \"" + device + "\"");
  text = changed(text, "slo_ms = 20", "slo_ms = 20\n" + keys);
  const auto cluster = read(text);
  REQUIRE_MESSAGE(cluster.ok(), listed(cluster.problems));
  return cluster.spec;
}

model_engine decided(cluster_spec cluster, node_id self) {
  decide_engines(cluster, self);
  return cluster.models[0].decided_engine;
}

}  // namespace

TEST_CASE("decided engines: the file decides, whether OpenVINO is installed or not") {
  for (const auto* device : {"cpu", "emulated"}) {
    CHECK(decided(with_source("source = \"mlp.onnx\"", device), worker) == model_engine::native);
    CHECK(decided(
              with_source("source = \"mlp.onnx\"\nbatching = \"none\"\nshapes = { input = [1, 64] }", device),
              worker) == model_engine::openvino);
  }
}

TEST_CASE("decided engines: workers and the leader decide, gateways alone do not") {
  auto cluster = with_source("source = \"mlp.onnx\"");
  CHECK(decided(cluster, head) == model_engine::native);
  cluster.nodes[head.value].roles = {node_role::gateway, node_role::standby};
  CHECK(decided(cluster, head) == model_engine::native);
  cluster.nodes[head.value].roles = {node_role::gateway};
  CHECK(decided(cluster, head) == model_engine::automatic);
}

TEST_CASE("decided engines: nothing is decided where the file says it, or where there is none") {
  auto given = with_source("source = \"mlp.onnx\"\nengine = \"openvino\"");
  CHECK(decided(given, worker) == model_engine::automatic);
  CHECK(given.models[0].runs_by() == model_engine::openvino);
  CHECK(decided(read(good_cluster).spec, worker) == model_engine::automatic);
  auto gpus = with_source("source = \"mlp.onnx\"");
  for (auto& s : gpus.slots) s.kind = device_kind::cuda;
  CHECK(decided(gpus, worker) == model_engine::automatic);
}

TEST_CASE("decided engines: a file that is no model stays undecided, and is refused where it is deployed") {
  const temporary_folder folder;
  const auto file = folder.write("m.onnx", "no model").string();
  auto cluster = with_source("source = \"" + file + "\"");
  CHECK(decided(cluster, worker) == model_engine::automatic);
  CHECK(decide_engine(cluster.models[0], cluster) == file + ": not an ONNX model (damaged or truncated)");
}
