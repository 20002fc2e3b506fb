#include "tools/load/tokens.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

using namespace troupe;

namespace {

/// Sent at 1 h; tokens and the end are in milliseconds after it.
completion_times times_of(const std::vector<int>& tokens, int ended, uint64_t output_tokens) {
  completion_times c{.sent = time_point{1h}, .tokens = {}, .ended = time_point{1h} + ended * 1ms};
  for (const int t : tokens) c.tokens.push_back(time_point{1h} + t * 1ms);
  c.prompt_tokens = 5;
  c.output_tokens = output_tokens;
  return c;
}

}  // namespace

TEST_CASE("load_tokens: time to first token and time per output token are as their formulas say") {
  const auto c = times_of({100, 130, 190}, 200, 10);  // some events carry several tokens
  CHECK(c.ttft() == 100ms);
  CHECK(c.tpot() == 10ms);
  const auto one = times_of({100}, 100, 1);
  CHECK(one.ttft() == 100ms);
  CHECK_FALSE(one.tpot());
  CHECK_FALSE(times_of({}, 100, 0).ttft());
  CHECK_FALSE(times_of({}, 100, 7).tpot());
}

TEST_CASE("load_tokens: quantiles lie between values as numpy's do, whatever the order") {
  duration_sample s;
  CHECK(s.quantile(0.5) == 0ms);
  CHECK(s.mean() == 0ms);
  for (const int ms : {40, 10, 30, 20}) s.add(ms * 1ms);
  CHECK(s.count() == 4);
  CHECK(s.mean() == 25ms);
  CHECK(s.quantile(0) == 10ms);
  CHECK(s.quantile(0.5) == 25ms);  // numpy.quantile([10, 20, 30, 40], 0.5)
  CHECK(s.quantile(0.9) == 37ms);  // likewise 0.9
  CHECK(s.quantile(0.99) == 39700us);
  CHECK(s.quantile(1) == 40ms);
  s.add(50ms);
  CHECK(s.quantile(0.5) == 30ms);
}

TEST_CASE("load_tokens: a completion is good if it meets both objectives, with equality") {
  const completion_slo slo{.ttft = 100ms, .tpot = 10ms};
  CHECK(slo.met_by(times_of({100, 190}, 200, 10)));
  CHECK_FALSE(slo.met_by(times_of({101, 190}, 200, 10)));
  CHECK_FALSE(slo.met_by(times_of({100, 191}, 200, 10)));
  CHECK(slo.met_by(times_of({100}, 5000, 1)));
  CHECK_FALSE(slo.met_by(times_of({}, 10, 0)));
  CHECK(completion_slo{}.met_by(times_of({1'000'000}, 1'000'000, 1)));
  auto own = times_of({120}, 200, 1);
  CHECK_FALSE(slo.met_by(own));
  own.ttft_target = 120ms;
  CHECK(slo.met_by(own));
  own.ttft_target = 119ms;
  CHECK_FALSE(slo.met_by(own));
}

TEST_CASE("load_tokens: a report adds up") {
  completion_report r;
  r.slo = {.ttft = 50ms, .tpot = duration::max()};
  r.sent = 4;
  r.length = 2s;
  r.add("a", times_of({10, 20, 40}, 50, 3));
  r.add("a", times_of({60, 70}, 80, 2));
  r.add("b", times_of({}, 5, 0));
  r.add_error("HTTP 429");
  const auto j = nlohmann::json::parse(completion_json(r));
  CHECK(j["sent"] == 4);
  CHECK(j["completed"] == 3);
  CHECK(j["failed"] == 1);
  CHECK(j["good"] == 1);
  CHECK(j["goodput_per_s"] == 0.5);
  CHECK(j["requests_per_s"] == 1.5);
  CHECK(j["output_tokens"] == 5);
  CHECK(j["output_tokens_per_s"] == 2.5);
  CHECK(j["prompt_tokens_per_s"] == 7.5);
  CHECK(j["ttft_slo_ms"] == 50.0);
  CHECK(j["tpot_slo_ms"].is_null());
  CHECK(j["ttft_ms"]["count"] == 2);
  CHECK(j["ttft_ms"]["mean"] == 35.0);
  CHECK(j["itl_ms"]["count"] == 3);
  CHECK(j["itl_ms"]["p50"] == 10.0);
  CHECK(j["tpot_ms"]["p50"] == 12.5);
  CHECK(j["e2e_ms"]["count"] == 3);
  CHECK(j["errors"] == nlohmann::json{{"HTTP 429", 1}});
  CHECK(j["models"] == nlohmann::json{{"a", 2}, {"b", 1}});
  const auto table = completion_table(r);
  CHECK(table.find("4 requests in 2.00 s: 3 completed, 1 failed\n") == 0);
  CHECK(table.find("1.50 requests/s, 0.50 within the objectives/s\n") != std::string::npos);
  CHECK(table.find("1 failed: HTTP 429\n") != std::string::npos);
}

TEST_CASE("load_tokens: a report of nothing divides by nothing") {
  const auto j = nlohmann::json::parse(completion_json({}));
  CHECK(j["requests_per_s"] == 0.0);
  CHECK(j["ttft_ms"]["p99"] == 0.0);
}
