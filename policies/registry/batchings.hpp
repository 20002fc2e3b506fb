// Batching policies by name.
#pragma once
#include <memory>
#include <span>
#include <string_view>

#include "policies/batching/batching.hpp"
#include "policies/common/registry.hpp"

namespace troupe {

/// "deferred", "eager", "timeout", "clockwork", "nexus", and those of plug-ins.
registry<batching_factory>& batchings();

/// Makes the policy `batching`, a name in `batchings()` with an optional argument in parentheses, with the
/// shedding rule "timeout", "window" or "staggered"; `by_shape`, one for each shape class. Null if a name or
/// the argument is invalid.
std::unique_ptr<batching_policy> make_batching(std::string_view batching, std::string_view rule,
                                               const batching_parameters& p);
/// Names of the shedding rules, in the order of `shedding`.
std::span<const std::string_view> shedding_names();

}  // namespace troupe
