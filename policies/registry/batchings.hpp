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

/// By name: `batching` is one of `batchings()`, with or without an argument in parentheses, `rule` "timeout",
/// "window" or "staggered". An unknown name or argument gives null.
std::unique_ptr<batching_policy> make_batching(std::string_view batching, std::string_view rule,
                                               const batching_parameters& p);
/// The rules, in the order of `shedding`.
std::span<const std::string_view> shedding_names();

}  // namespace troupe
