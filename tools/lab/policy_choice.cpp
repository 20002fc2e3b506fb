#include "tools/lab/policy_choice.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>

#include "messages/common/near.hpp"
#include "policies/batching/batching.hpp"
#include "policies/registry/batchings.hpp"
#include "policies/registry/matchmakings.hpp"

namespace troupe::lab {

namespace {

std::string unknown_name(std::string_view what, std::string_view name,
                         std::span<const std::string_view> known) {
  const auto near = nearest(name, known);
  return fmt::format("unknown {} '{}'{}; there are {}", what, name,
                     near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near), fmt::join(known, ", "));
}

}  // namespace

std::string unknown_policy(std::string_view name) {
  const auto why = wrong_argument(name);
  return why.empty() ? unknown_name("policy", name, scheduling_names()) : why;
}

std::string unknown_part(const scheduling& s) {
  batching_parameters any;
  any.latency = {1ms, 1ms};
  any.slo = 1s;
  if (make_batching(s.batching, s.shedding, any) == nullptr) {
    const auto rules = shedding_names();
    if (std::find(rules.begin(), rules.end(), s.shedding) == rules.end())
      return unknown_name("shedding", s.shedding, rules);
    const auto why = wrong_argument(s.batching);
    return why.empty() ? unknown_name("batching", s.batching, batchings().names()) : why;
  }
  if (make_matchmaking(s.matchmaking) == nullptr)
    return unknown_name("matchmaking", s.matchmaking, matchmakings().names());
  if (!parts_fit(s))
    return fmt::format(
        "batching '{}' does not go with matchmaking '{}': Nexus is a batching and a matchmaking policy in "
        "one; give --policy nexus without --batching and --matchmaking",
        s.batching, s.matchmaking);
  return {};
}

}  // namespace troupe::lab
