#include <algorithm>

#include "config/sections.hpp"
#include "policies/batching.hpp"
#include "policies/matchmaking.hpp"

namespace troupe {

namespace {

std::string pick(section& s, std::string_view key, std::span<const std::string_view> known,
                 std::string_view fallback) {
  const auto found = std::find(known.begin(), known.end(), fallback);
  return std::string{known[s.choice(key, known, static_cast<size_t>(found - known.begin()))]};
}

constexpr double most_us = 1e6;

}  // namespace

policy_spec read_policy(section& root) {
  auto& s = root.table_or_empty("policy");
  policy_spec p;
  p.batching = pick(s, "batching", batching_names(), p.batching);
  p.shedding = pick(s, "shedding", shedding_names(), p.shedding);
  p.matchmaking = pick(s, "matchmaking", matchmaking_names(), p.matchmaking);
  // Decision to inputs on the device: one hop of a few tens of microseconds and a pull over TCP. The margins
  // suit CPUs that share their cores with other work; on a quiet RDMA cluster all four can be far smaller.
  p.network.control = s.microseconds("network_control_us", 0, most_us, 200);
  p.network.data = s.microseconds("network_data_us", 0, most_us, 20);
  p.response = s.milliseconds("response_ms", 0, 1e4, 1);
  p.margin = s.microseconds("margin_us", 0, most_us, 500);
  return p;
}

}  // namespace troupe
