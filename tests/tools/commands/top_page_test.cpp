#include "tools/commands/top_page.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

using namespace troupe;

namespace {

void add_gateway(top_sample& s, const std::string& name, uint64_t incarnation, uint64_t accepted,
                 duration latency) {
  s.add_status({{"node", name}, {"incarnation", incarnation}, {"ready", true}});
  s.nodes.back().ledger = ledger_report{{{"m", accepted, accepted, accepted, {{"late", accepted / 2}}, {}}}};
  s.nodes.back().latencies = latency_report{{{"m", {{10ms, 5}, {latency, accepted}}}}};
}

/// A cluster of one node, in its incarnation 1.
top_sample sample(double seconds, uint64_t finished, duration latency) {
  top_sample s;
  s.at = time_point{from_ms(1000 * seconds)};
  const std::string total = std::to_string(finished);
  s.add_status(nlohmann::json::parse(R"({"node": "head", "incarnation": 1, "ready": true, "metrics": [
    {"name": "troupe_requests_in_flight", "labels": {}, "value": 3},
    {"name": "troupe_queue_rows", "labels": {"model": "m"}, "value": 7},
    {"name": "troupe_batches_total", "labels": {"model": "m"}, "value": )" +
                                     total + R"(},
    {"name": "troupe_batched_rows_total", "labels": {"model": "m"}, "value": )" +
                                     std::to_string(4 * finished) + R"(},
    {"name": "troupe_worker_busy_seconds_total", "labels": {"slot": "0"}, "value": )" +
                                     std::to_string(seconds / 2) + "}]}"));
  s.nodes.back().ledger =
      ledger_report{{{"m", finished + 10, finished, finished, {{"late", finished / 2}}, {}}}};
  s.nodes.back().latencies = latency_report{{{"m", {{10ms, 5}, {latency, finished}}}}};
  s.add(arbiter_state{{}, 1, 0, {{slot_id{0}, node_id{0}, "busy", 1, {}, {}}}, {}, {}}, {"head"});
  return s;
}

}  // namespace

TEST_CASE("top: shows what happened between two samples, not since the start") {
  const auto doc = top_document(sample(10, 100, 20ms), sample(12, 300, 20ms));
  CHECK(doc["interval_s"] == 2.0);
  CHECK(doc["nodes"][0]["state"] == "ready");
  const auto& m = doc["models"][0];
  CHECK(m["rate_rps"] == 100.0);
  CHECK(m["goodput_rps"] == 100.0);
  CHECK(m["p50_ms"] == 20.0);
  CHECK(m["queued_rows"] == 7.0);
  CHECK(m["mean_batch"] == 4.0);
  CHECK(m["drops_per_s"]["late"] == 50.0);
  CHECK(doc["slots"][0]["busy"] == 0.5);
  CHECK(doc["slots"][0]["state"] == "busy");
  CHECK(top_table(doc).find("late 50.0") != std::string::npos);
}

TEST_CASE("top: an absent event has no number") {
  const auto quiet = top_document(sample(10, 100, 20ms), sample(12, 100, 20ms));
  CHECK(quiet["models"][0]["rate_rps"] == 0.0);
  CHECK(quiet["models"][0]["p50_ms"].is_null());
  CHECK(quiet["models"][0]["mean_batch"].is_null());
  auto down = sample(12, 100, 20ms);
  down.add_status({{"node", "left"}, {"error", "no node answers"}});
  CHECK(top_document(sample(10, 100, 20ms), down)["nodes"][1]["state"] == "down");
}

TEST_CASE("top: a gateway that misses a sample or begins a new incarnation changes no rate of the others") {
  constexpr uint64_t million = 1'000'000;
  auto both = sample(10, 100, 20ms);
  add_gateway(both, "other", 7, million, 30ms);
  auto one = sample(12, 300, 20ms);
  SUBCASE("it does not answer") { one.add_status({{"node", "other"}, {"error", "no node answers"}}); }
  SUBCASE("it answers, but its ledger does not come") {
    one.add_status({{"node", "other"}, {"incarnation", 7}, {"ready", true}});
  }
  SUBCASE("it has begun again") { add_gateway(one, "other", 8, 50, 30ms); }
  for (const auto& doc : {top_document(both, one), top_document(one, sample(14, 500, 20ms))}) {
    CHECK(doc["models"][0]["rate_rps"] == 100.0);
    CHECK(doc["models"][0]["goodput_rps"] == 100.0);
    CHECK(doc["models"][0]["p99_ms"] == 20.0);
    CHECK(doc["models"][0]["drops_per_s"]["late"] == 50.0);
  }
  auto back = sample(14, 500, 20ms);
  add_gateway(back, "other", 7, million + 600, 30ms);
  if (one.nodes.back().incarnation != 8) {
    CHECK(top_document(one, back)["models"][0]["rate_rps"] == 100.0);
    CHECK(top_document(both, back)["models"][0]["rate_rps"] == 250.0);  // 400 and 600 in 4 s
  }
}

TEST_CASE("top: without an earlier sample there is no number, neither 0 nor the total") {
  auto restarted = sample(12, 300, 20ms);
  restarted.nodes[0].incarnation = 2;
  const auto doc = top_document(sample(10, 100, 20ms), restarted);
  CHECK(doc["models"][0]["rate_rps"].is_null());
  CHECK(doc["models"][0]["mean_batch"].is_null());
  CHECK(doc["models"][0]["queued_rows"] == 7.0);
  CHECK(doc["slots"][0]["busy"].is_null());
  CHECK(doc["slots"][0]["batches_per_s"].is_null());
  CHECK(top_table(doc).find(" - ") != std::string::npos);
}
