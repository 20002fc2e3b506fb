// A whole scheduler by one name: which batching, shedding and matchmaking policies go together.
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

/// "deferred", "eager", "timeout(K)" (policies/batching/timeout.hpp defines K), and the systems that the
/// Symphony paper compares with: "clockwork", "clockwork(any)", "nexus", "shepherd". None: there is no such
/// scheduler.
std::optional<scheduling> scheduling_named(std::string_view name);
std::span<const std::string_view> scheduling_names();

/// Whether the parts go together: Nexus batches and places models as one.
bool parts_fit(const scheduling& s);

/// What to say of a name that is not known for what stands in parentheses behind it: how that is written.
/// Empty: it is not known anyway.
std::string wrong_argument(std::string_view name);

}  // namespace troupe
