#include "tools/lab/policy_choice.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "messages/near.hpp"
#include "policies/batching.hpp"
#include "policies/matchmaking.hpp"

namespace troupe::lab {

std::string unknown_policy(std::string_view name) {
  const auto near = nearest(name, scheduling_names());
  return fmt::format("unknown policy '{}'{}; there are {}", name,
                     near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near),
                     fmt::join(scheduling_names(), ", "));
}

std::string unknown_part(const scheduling& s) {
  batching_parameters any;
  any.latency = {1ms, 1ms};
  any.slo = 1s;
  if (make_batching(s.batching, s.shedding, any) == nullptr) {
    for (const auto rule : shedding_names())
      if (rule == s.shedding) return fmt::format("unknown batching '{}'", s.batching);
    return fmt::format("unknown shedding '{}'{}", s.shedding, hint(s.shedding, shedding_names()));
  }
  if (make_matchmaking(s.matchmaking) == nullptr)
    return fmt::format("unknown matchmaking '{}'", s.matchmaking);
  return {};
}

}  // namespace troupe::lab
