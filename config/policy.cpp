#include <array>

#include "config/sections.hpp"

namespace troupe {

namespace {

constexpr std::array<std::string_view, 2> batching_choices{"deferred", "eager"};
constexpr std::array<std::string_view, 2> shedding_choices{"window", "timeout"};
constexpr std::array<std::string_view, 2> matchmaking_choices{"lowest_id", "earliest_free"};

constexpr double most_us = 1e6;

}  // namespace

policy_spec read_policy(section& root) {
  auto& s = root.table_or_empty("policy");
  policy_spec p;
  p.batching = batching_choices[s.choice("batching", batching_choices, 0)];
  p.shedding = shedding_choices[s.choice("shedding", shedding_choices, 0)];
  p.matchmaking = matchmaking_choices[s.choice("matchmaking", matchmaking_choices, 0)];
  // Decision to inputs on the device: one hop of a few tens of microseconds and a pull over TCP. The margins
  // suit CPUs that share their cores with other work; on a quiet RDMA cluster all four can be far smaller.
  p.network.control = s.microseconds("network_control_us", 0, most_us, 200);
  p.network.data = s.microseconds("network_data_us", 0, most_us, 20);
  p.response = s.milliseconds("response_ms", 0, 1e4, 1);
  p.margin = s.microseconds("margin_us", 0, most_us, 500);
  return p;
}

}  // namespace troupe
