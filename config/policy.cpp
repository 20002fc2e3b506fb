#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <exception>

#include "config/sections.hpp"
#include "messages/tensor/decisions.hpp"
#include "plugins/loader.hpp"
#include "policies/batching/batching.hpp"
#include "policies/registry/batchings.hpp"
#include "policies/registry/matchmakings.hpp"
#include "policies/registry/scheduling.hpp"

namespace troupe {

namespace {

std::string pick(section& s, std::string_view key, std::span<const std::string_view> known,
                 std::string_view fallback) {
  const auto found = std::find(known.begin(), known.end(), fallback);
  return std::string{known[s.choice(key, known, static_cast<size_t>(found - known.begin()))]};
}

/// Sets all three policies by one name, unless they have keys of their own.
void pick_scheduler(section& s, policy_spec& p) {
  if (!s.has("scheduler")) return;
  const auto found = scheduling_named(s.peek("scheduler"));
  if (!found) {
    if (const auto why = wrong_argument(s.peek("scheduler")); !why.empty()) {
      s.unused("scheduler");
      s.refuse("scheduler", why);
      return;
    }
    s.choice("scheduler", scheduling_names(), 0);
    return;
  }
  s.unused("scheduler");
  p.batching = found->batching;
  p.shedding = found->shedding;
  p.matchmaking = found->matchmaking;
}

/// A policy's name, or one with an argument.
std::string pick_batching(section& s, const std::string& fallback) {
  if (!s.has("batching") && fallback.find('(') != std::string::npos) return s.text("batching", fallback);
  if (s.peek("batching").find('(') == std::string::npos)
    return pick(s, "batching", batchings().names(), fallback);
  const auto name = s.text("batching");
  if (make_batching(name, "timeout", {}) == nullptr) {
    const auto why = wrong_argument(name);
    s.refuse("batching", why.empty() ? fmt::format("unknown policy '{}'; policies without an argument are {}",
                                                   name, fmt::join(batchings().names(), ", "))
                                     : why);
  }
  return name;
}

using brought_names = std::vector<std::string> loaded_plugin::*;

/// The plug-in of this cluster that provides the policy; null for a built-in one.
const plugin_spec* origin_of(const std::string& policy, const plugin_reading& in, brought_names names) {
  for (const auto& p : in.plugins) {
    const auto& brought = load_plugin(p.library).*names;
    if (std::find(brought.begin(), brought.end(), policy) != brought.end()) return &p;
  }
  return nullptr;
}

/// Creates a plug-in's policy once, so that a failure is a problem of the file and not of a running node.
template <class Make>
void try_to_make(section& s, std::string_view key, const plugin_spec& from, Make&& make) {
  try {
    if (!make()) s.refuse(key, fmt::format("plug-in '{}' ({}) returned no policy", from.name, from.library));
  } catch (const std::exception& e) {
    s.refuse(key, fmt::format("plug-in '{}' ({}) cannot create the policy: {}", from.name, from.library,
                              e.what()));
  }
}

constexpr double max_policy_us = 1e6;

}  // namespace

policy_spec read_policy(section& root, const plugin_reading& plugins) {
  auto& s = root.table_or_empty("policy");
  policy_spec p;
  if (plugins.complete) {
    pick_scheduler(s, p);
    p.batching = pick_batching(s, p.batching);
    p.shedding = pick(s, "shedding", shedding_names(), p.shedding);
    p.matchmaking = pick(s, "matchmaking", matchmakings().names(), p.matchmaking);
    if (!parts_fit({p.batching, p.shedding, p.matchmaking}))
      s.refuse(s.has("matchmaking") ? "matchmaking" : "batching",
               "Nexus is a batching and a matchmaking policy in one; write scheduler = \"nexus\"");
  } else {
    // A library is missing, so its names would be reported as unknown.
    for (const auto* key : {"scheduler", "batching", "shedding", "matchmaking"}) s.unused(key);
  }
  if (const auto* from = origin_of(p.batching, plugins, &loaded_plugin::batchings)) {
    p.batching_settings = from->settings;
    batching_parameters some;
    some.settings = from->settings;
    try_to_make(s, "batching", *from, [&] { return make_batching(p.batching, p.shedding, some); });
  }
  if (const auto* from = origin_of(p.matchmaking, plugins, &loaded_plugin::matchmakings)) {
    p.matchmaking_settings = from->settings;
    try_to_make(s, "matchmaking", *from,
                [&] { return make_matchmaking(p.matchmaking, p.matchmaking_settings); });
  }
  // Decision to inputs on the device: one hop of a few tens of microseconds and a pull over TCP. The margins
  // suit CPUs that share their cores with other work; on a quiet RDMA cluster all four can be far smaller.
  p.network.control = s.microseconds("network_control_us", 0, max_policy_us, 200);
  p.network.data = s.microseconds("network_data_us", 0, max_policy_us, 20);
  p.response = s.milliseconds("response_ms", 0, 1e4, 1);
  p.margin = s.microseconds("margin_us", 0, max_policy_us, 500);
  p.decision_log = static_cast<uint32_t>(s.integer("decision_log", 0, largest_decision_log, p.decision_log));
  return p;
}

}  // namespace troupe
