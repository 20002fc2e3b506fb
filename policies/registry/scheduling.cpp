#include "policies/registry/scheduling.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "policies/registry/batchings.hpp"

namespace troupe {
namespace {

/// Each as in its paper. Eager batching sheds only late requests, as systems with eager batching do.
const std::array<std::pair<std::string_view, scheduling>, 6> known{{
    {"deferred", {"deferred", "window", "lowest_id"}},
    {"eager", {"eager", "timeout", "lowest_id"}},
    {"timeout", {"timeout", "window", "lowest_id"}},
    {"clockwork", {"clockwork", "timeout", "earliest_free"}},
    {"nexus", {"nexus", "window", "nexus"}},
    {"shepherd", {"eager", "timeout", "shepherd"}},
}};
constexpr std::array<std::string_view, 6> batching_names{"deferred",  "eager", "timeout",
                                                         "clockwork", "nexus", "shepherd"};

}  // namespace

std::optional<scheduling> scheduling_named(std::string_view name) {
  for (const auto& [known_name, s] : known) {
    if (name == known_name) return s;
    // An argument belongs to the batching policy.
    if (!name.starts_with(known_name) || name.substr(known_name.size(), 1) != "(") continue;
    auto with = s;
    with.batching = name;
    if (make_batching(with.batching, with.shedding, {})) return with;
  }
  return {};
}

std::span<const std::string_view> scheduling_names() { return batching_names; }

bool parts_fit(const scheduling& s) { return (s.batching == "nexus") == (s.matchmaking == "nexus"); }

std::string wrong_argument(std::string_view name) {
  const auto open = name.find('(');
  const std::string whole{name}, base{name.substr(0, open)};
  const bool is_known =
      std::find(batching_names.begin(), batching_names.end(), base) != batching_names.end() ||
      batchings().find(base);
  if (open == name.npos || !is_known) return {};
  const auto problem = "invalid policy '" + whole + "'; ";
  if (base == "timeout") return problem + "use timeout(30%) (of the SLO), timeout(12.5ms) or timeout(800us)";
  if (base == "clockwork") return problem + "use clockwork or clockwork(any)";
  return problem + "'" + base + "' does not take this argument";
}

}  // namespace troupe
