#include "tools/load/replay.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

using namespace troupe;

namespace {

std::vector<traced_generation> ten_rows() {
  std::vector<traced_generation> rows;
  for (int i = 0; i < 10; ++i) {
    auto& r = rows.emplace_back();
    r.at = i * 1s;
    r.prompt_tokens = 1000;
    r.output_tokens = 5;
  }
  return rows;
}

}  // namespace

TEST_CASE("replay: a part of a trace, slower or faster, and cut") {
  replay_options o;
  o.from = 2s;
  o.length = 3s;
  o.time_scale = 0.5;
  o.max_prompt = 7;
  const auto rows = scaled(ten_rows(), o);
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].at == duration{});
  CHECK(rows[2].at == 1s);
  CHECK(rows[0].prompt_tokens == 7);
}

TEST_CASE(
    "replay: a higher rate adds requests between those of the trace, a lower one draws some by a seed") {
  replay_options o;
  o.rate_scale = 3;
  auto rows = scaled(ten_rows(), o);
  CHECK(rows.size() == 30);
  for (size_t i = 1; i < rows.size(); ++i) CHECK(rows[i - 1].at <= rows[i].at);
  CHECK(rows.back().at <= 9s);
  o.rate_scale = 0.4;
  rows = scaled(ten_rows(), o);
  CHECK(rows.size() < 10);
  CHECK(rows == scaled(ten_rows(), o));
  o.rate_scale = 1;
  o.requests = 4;
  CHECK(scaled(ten_rows(), o).size() == 4);
}

TEST_CASE("replay: prompts share the prefix of their common blocks") {
  replay_options o;
  o.model = "m";
  o.token_bound = 100;
  traced_generation a, b;
  a.prompt_tokens = b.prompt_tokens = 1100;
  a.output_tokens = b.output_tokens = 3;
  a.blocks = {1, 2, 3};
  b.blocks = {1, 2, 4};
  b.adapter = "x";
  b.slo = 5ms;
  b.priority = 2;
  const auto one = nlohmann::json::parse(replay_body(a, 0, o)),
             two = nlohmann::json::parse(replay_body(b, 1, o));
  CHECK(one["model"] == "m");
  CHECK_FALSE(one.contains("ttft_ms"));
  CHECK(two["model"] == "x");
  CHECK(two["ttft_ms"] == 5.0);
  CHECK(two["priority"] == 2);
  CHECK(two["max_tokens"] == 3);
  const std::vector<int> p = one["prompt"], q = two["prompt"];
  REQUIRE(p.size() == 1100);
  CHECK(std::equal(p.begin(), p.begin() + 1024, q.begin()));
  CHECK_FALSE(std::equal(p.begin(), p.end(), q.begin()));
  for (const auto t : p) CHECK((t >= 0 && t < 100));
}

TEST_CASE("replay: the series as CSV") {
  replay_report r;
  r.interval = 500ms;
  r.series.resize(2);
  r.series[1].sent = 3;
  r.series[1].ttft.add(2ms);
  CHECK(replay_csv(r) ==
        "second,sent,completed,failed,good,in_flight,tokens,ttft_p50_ms,ttft_p99_ms\n"
        "0.000,0,0,0,0,0,0,0.000,0.000\n0.500,3,0,0,0,0,0,2.000,2.000\n");
  CHECK(nlohmann::json::parse(replay_json(r))["series"].size() == 2);
}
