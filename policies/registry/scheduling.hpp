// Schedulers by name: each combines a batching, a shedding and a matchmaking policy.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace troupe {

struct scheduling {
  std::string batching = "deferred", shedding = "window", matchmaking = "lowest_id";
  bool operator==(const scheduling&) const = default;
};

/// "deferred", "eager", "timeout(K)" (policies/batching/timeout.hpp defines K), and the baselines of the
/// Symphony paper: "clockwork", "clockwork(any)", "nexus", "shepherd". Empty if the name is unknown.
std::optional<scheduling> scheduling_named(std::string_view name);
std::span<const std::string_view> scheduling_names();

/// Whether the policies can be combined: Nexus needs both its batching and its matchmaking.
bool parts_fit(const scheduling& s);

/// Error message for a known name with an invalid argument: it explains the argument. Empty if the name
/// itself is unknown or has no argument.
std::string wrong_argument(std::string_view name);

}  // namespace troupe
