#include "policies/scaling/source_flows.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <vector>

using namespace troupe;

namespace {

constexpr node_id flow_source{1}, other_flow_source{2};
constexpr uint64_t flow_chunk = measured_rate::sample_bytes / 4;
constexpr double rate_of_chunks_in(duration each) {
  return static_cast<double>(flow_chunk) * 8 / static_cast<double>(each.count());
}

}  // namespace

TEST_CASE(
    "source flows: pulls of two transfers that take turns on a link have its rate, not a half of it each") {
  source_flows flows;
  time_point now{1s};
  flows.begin(flow_source);
  flows.begin(flow_source);
  time_point posted[2] = {now, now};
  for (int i = 0; i < 2; ++i) flows.post(flow_source);
  std::vector<double> rates;
  for (int i = 0; i < 17; ++i) {
    now += 4ms;
    if (const auto r = flows.end(flow_source, flow_chunk, posted[i % 2], now)) rates.push_back(*r);
    posted[i % 2] = now;
    flows.post(flow_source);
  }
  CHECK(rates.size() == 4);
  for (const auto r : rates) CHECK(r == doctest::Approx(rate_of_chunks_in(4ms)));
}

TEST_CASE(
    "source flows: a transfer that begins beside another one keeps its bytes, and after it forgets them") {
  source_flows flows;
  time_point now{1s};
  const auto pull = [&](duration takes) {
    const auto posted = now;
    flows.post(flow_source);
    return flows.end(flow_source, flow_chunk, posted, now += takes);
  };
  flows.begin(flow_source);
  flows.post(flow_source);  // of a transfer that stays under way
  for (int i = 0; i < 3; ++i) CHECK_FALSE(pull(4ms));
  flows.begin(flow_source);
  CHECK_FALSE(pull(4ms));
  CHECK(pull(4ms));  // the first four are a sample
  CHECK_FALSE(flows.end(flow_source, 0, now, now));
  flows.begin(flow_source);
  for (int i = 0; i < 3; ++i) CHECK_FALSE(pull(1ms));
  CHECK(pull(1ms));
}

TEST_CASE("source flows: each source has its own rate, and a pull that failed counts for none") {
  source_flows flows;
  time_point now{1s};
  for (const auto from : {flow_source, other_flow_source}) flows.begin(from);
  std::optional<double> rate;
  for (int i = 0; i < 4; ++i) {
    flows.post(flow_source);
    flows.post(other_flow_source);
    CHECK_FALSE(flows.end(other_flow_source, 0, now, now + 1ms));
    rate = flows.end(flow_source, flow_chunk, now, now + 4ms);
    now += 4ms;
  }
  REQUIRE(rate);
  CHECK(*rate == doctest::Approx(rate_of_chunks_in(4ms)));
}
