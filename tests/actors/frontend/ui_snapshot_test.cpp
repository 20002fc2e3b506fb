#include "actors/frontend/ui_snapshot.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

using namespace troupe;

namespace {

time_point at_s(double s) { return time_point{from_ms(s * 1000)}; }

cluster_spec small_cluster() {
  cluster_spec c;
  c.name = "small";
  for (const char* name : {"head", "worker"}) {
    node_spec n;
    n.name = name;
    c.nodes.push_back(std::move(n));
  }
  c.nodes[0].roles = {node_role::gateway, node_role::scheduler};
  c.nodes[1].roles = {node_role::worker};
  c.slots.push_back({node_id{1}, device_kind::emulated});
  llm_spec l;
  l.name = "talker";
  c.llms.push_back(l);
  c.engines.push_back({llm_id{0}, node_id{1}});
  return c;
}

ui_sample sample(double s, double accepted, double busy, uint64_t worker_incarnation = 7) {
  ui_sample out;
  out.at = at_s(s);
  out.gateway = "head";
  out.models[model_id{3}] = "resnet";
  out.nodes["head"] = {"up", {1}, {}};
  out.nodes["worker"] = {"up", {worker_incarnation}, {}};
  out.nodes["head"].add({"troupe_requests_accepted_total", "model=resnet", accepted});
  out.nodes["head"].add({"troupe_requests_dropped_total", "model=resnet,reason=too_late", 2});
  out.nodes["head"].add({"troupe_requests_dropped_total", "model=resnet,reason=queue_full", 3});
  out.nodes["head"].add({"troupe_request_latency_seconds", "model=resnet,quantile=0.5", 0.1});
  out.nodes["head"].add({"troupe_request_latency_seconds", "model=resnet,quantile=0.99", 0.25});
  out.nodes["worker"].add({"troupe_worker_busy_seconds_total", "slot=0", busy});
  return out;
}

}  // namespace

TEST_CASE("ui_snapshot: one sample gives the current state, and rates are null until the second") {
  const auto cluster = small_cluster();
  ui_snapshot s(cluster);
  auto first = sample(10, 100, 4);
  first.batches[0].batches.push_back({17, model_id{3}, 4, 5, 20ms, 8ms, false});
  first.engines[0].state = "serving";
  first.engines[0].kv_blocks = 100;
  first.engines[0].kv_blocks_free = 25;
  first.adapters[0].adapters.resize(2);
  first.adapters[0].adapters[0].name = "<b>here</b>";
  first.adapters[0].adapters[0].place = "ready";
  first.adapters[0].adapters[1].place = "away";
  const auto doc = s.fold(first);
  CHECK(doc["cluster"] == "small");
  CHECK(doc["nodes"][0]["roles"] == nlohmann::ordered_json{"gateway", "scheduler"});
  CHECK(doc["nodes"][1]["state"] == "up");
  REQUIRE(doc["slots"].size() == 1);
  CHECK(doc["slots"][0]["node"] == "worker");
  CHECK(doc["slots"][0]["device"] == "emulated");
  CHECK(doc["slots"][0]["busy"].is_null());
  const auto& batch = doc["slots"][0]["batches"].at(0);
  CHECK(batch["model"] == "resnet");
  CHECK(batch["rows"] == 5);
  CHECK(batch["took_ms"] == 8);
  CHECK(batch["ended_ago_ms"] == 20);
  const auto& model = doc["models"].at(0);
  CHECK(model["requests_per_s"].is_null());
  CHECK(model["dropped"] == 5);
  CHECK(model["p99_ms"] == 250);
  const auto& engine = doc["engines"].at(0);
  CHECK(engine["kv_blocks_used"] == 75);
  REQUIRE(engine["resident"].size() == 1);
  CHECK(engine["resident"][0]["name"] == "<b>here</b>");
}

TEST_CASE("ui_snapshot: rates are differences of counters over the last two seconds") {
  const auto cluster = small_cluster();
  ui_snapshot s(cluster);
  s.fold(sample(10, 100, 4));
  auto doc = s.fold(sample(11, 150, 4.5));
  CHECK(doc["models"][0]["requests_per_s"] == 50);
  CHECK(doc["slots"][0]["busy"] == 0.5);
  s.fold(sample(12, 150, 4.5));
  doc = s.fold(sample(13, 150, 4.5));  // samples before the window do not count
  CHECK(doc["models"][0]["requests_per_s"] == 0);
}

TEST_CASE("ui_snapshot: a new incarnation of a node restarts its counters, and has no rate at first") {
  const auto cluster = small_cluster();
  ui_snapshot s(cluster);
  s.fold(sample(10, 100, 4));
  const auto doc = s.fold(sample(11, 150, 0.1, 8));
  CHECK(doc["slots"][0]["busy"].is_null());
  CHECK(doc["models"][0]["requests_per_s"] == 50);
}

TEST_CASE("ui_snapshot: times to tokens are the means of the window") {
  const auto cluster = small_cluster();
  ui_snapshot s(cluster);
  auto add_sample = [&](double at, double count, double sum) {
    auto now = sample(at, 0, 0);
    const std::vector<std::pair<std::string, std::string>> of{{"model_name", "talker"}};
    now.nodes["head"].add("vllm:time_to_first_token_seconds_count", of, count);
    now.nodes["head"].add("vllm:time_to_first_token_seconds_sum", of, sum);
    return s.fold(now)["llms"][0]["ttft_ms"];
  };
  CHECK(add_sample(10, 5, 1).is_null());
  CHECK(add_sample(11, 7, 1.5) == 250);
  CHECK(add_sample(11.5, 7, 1.5) == 250);
}

TEST_CASE("ui_snapshot: a node that was never up is unknown, and so are its engines") {
  const auto cluster = small_cluster();
  ui_snapshot s(cluster);
  auto now = sample(10, 100, 4);
  now.nodes.erase("worker");
  const auto doc = s.fold(now);
  CHECK(doc["nodes"][1]["state"] == "unknown");
  CHECK(doc["engines"][0]["state"] == "unknown");
  CHECK(doc["slots"][0]["batches"].empty());
}

TEST_CASE("ui_snapshot: engines of one model have metrics of their own") {
  auto cluster = small_cluster();
  cluster.engines.push_back({llm_id{0}, node_id{0}});
  ui_snapshot s(cluster);
  auto add_sample = [&](double at, double first, double second) {
    auto now = sample(at, 0, 0);
    now.nodes["worker"].add({"troupe_llm_steps_total", "model=talker,engine=0", first});
    now.nodes["head"].add({"troupe_llm_steps_total", "model=talker,engine=1", second});
    return s.fold(now)["engines"];
  };
  add_sample(10, 5, 100);
  const auto engines = add_sample(11, 10, 101);
  CHECK(engines[0]["steps_per_s"] == 5);
  CHECK(engines[1]["steps_per_s"] == 1);
  CHECK(engines[1]["node"] == "head");
}
