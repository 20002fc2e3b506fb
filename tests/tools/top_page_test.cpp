#include "tools/top_page.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

using namespace troupe;

namespace {

top_sample sample(double seconds, uint64_t finished, duration latency) {
  top_sample s;
  s.at = time_point{from_ms(1000 * seconds)};
  const std::string total = std::to_string(finished);
  s.add_status(nlohmann::json::parse(R"({"node": "head", "ready": true, "metrics": [
    {"name": "troupe_requests_in_flight", "labels": {}, "value": 3},
    {"name": "troupe_queue_rows", "labels": {"model": "m"}, "value": 7},
    {"name": "troupe_batches_total", "labels": {"model": "m"}, "value": )" +
                                     total + R"(},
    {"name": "troupe_batched_rows_total", "labels": {"model": "m"}, "value": )" +
                                     std::to_string(4 * finished) + R"(},
    {"name": "troupe_worker_busy_seconds_total", "labels": {"slot": "0"}, "value": )" +
                                     std::to_string(seconds / 2) + "}]}"));
  s.add(ledger_report{{{"m", finished + 10, finished, finished, {{"late", finished / 2}}, {}}}});
  s.add(latency_report{{{"m", {{10ms, 5}, {latency, finished}}}}});
  s.add(arbiter_state{1, 0, {{slot_id{0}, node_id{0}, "busy", 1, {}, {}}}, {}}, {"head"});
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

TEST_CASE("top: what did not happen has no figure, and a counter of a new life counts from 0") {
  const auto quiet = top_document(sample(10, 100, 20ms), sample(12, 100, 20ms));
  CHECK(quiet["models"][0]["p50_ms"].is_null());
  CHECK(quiet["models"][0]["mean_batch"].is_null());
  const auto reborn = top_document(sample(10, 100, 20ms), sample(12, 20, 20ms));
  CHECK(reborn["models"][0]["goodput_rps"] == 10.0);
  auto down = sample(12, 100, 20ms);
  down.add_status({{"node", "left"}, {"error", "nobody answers"}});
  CHECK(top_document(sample(10, 100, 20ms), down)["nodes"][1]["state"] == "down");
}
