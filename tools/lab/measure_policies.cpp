#include "tools/lab/measure_policies.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "tools/lab/partition_measure.hpp"
#include "tools/lab/policy_choice.hpp"
#include "tools/lab/scenario.hpp"

namespace troupe::lab {
namespace {

/// Empty if the policy is one of these.
std::string unless_among(const auto& known, const std::string& policy, std::string_view noun = "policy") {
  if (std::ranges::find(known, policy) != std::end(known)) return {};
  return fmt::format("unknown {} '{}'; there are {}", noun, policy, fmt::join(known, ", "));
}

scenario any_wait() {
  scenario out;
  out.timeout_percent = 50;
  return out;
}

std::string unusable_scheduling(measure what, const std::string& policy) {
  if (!is_waiting(policy) && !scheduling_named(policy)) return unknown_policy(policy);
  const auto how = scheduling_of(any_wait(), policy).value_or(scheduling{});
  const scheduling taken{.batching = how.batching};
  if (what != measure::scheduler || how == taken) return {};
  return fmt::format(
      "the measure scheduler takes only the batching of a policy, with shedding {} and "
      "matchmaking {}; '{}' has {} and {}",
      taken.shedding, taken.matchmaking, policy, how.shedding, how.matchmaking);
}

}  // namespace

bool serves_models(measure what) {
  static constexpr measure others[]{measure::partition, measure::llm, measure::latency, measure::scaling,
                                    measure::chain};
  return std::ranges::find(others, what) == std::end(others);
}

std::string unusable_policy(measure what, const std::string& policy) {
  switch (what) {
    case measure::latency: return unless_among(latency_policies, policy);
    case measure::scaling: return unless_among(scaling_policies, policy);
    case measure::chain: return unless_among(chain_policies, policy);
    case measure::partition: return unless_among(partition_methods, policy, "method");
    case measure::llm:
      return llm_policy_named(policy) ? std::string{} : unless_among(llm_policy_names(), policy);
    default: return unusable_scheduling(what, policy);
  }
}

std::string policy_of(section& s, std::string_view key, std::span<const std::string> policies) {
  const std::vector<std::string_view> known(policies.begin(), policies.end());
  const auto i = s.choice(key, known);
  return i ? policies[*i] : std::string{};
}

}  // namespace troupe::lab
