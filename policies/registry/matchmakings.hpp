// Matchmaking policies by name.
#pragma once
#include <memory>
#include <string_view>

#include "messages/common/plugin.hpp"
#include "policies/common/registry.hpp"
#include "policies/matchmaking/matchmaking.hpp"

namespace troupe {

/// "lowest_id" and "earliest_free" (timer_matchmaking.hpp), the baselines "shepherd" and "nexus", and those
/// of plug-ins.
registry<matchmaking_factory>& matchmakings();

/// Makes the policy of that name; null if it is unknown. `settings`: of the policy's plug-in.
std::unique_ptr<matchmaking_policy> make_matchmaking(std::string_view name,
                                                     const plugin_settings& settings = {});

}  // namespace troupe
