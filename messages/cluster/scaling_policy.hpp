// Policies of scaling: BlitzScale's, and the baselines that it is compared with (BlitzScale §6).
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

namespace troupe {

enum class scaling_policy : uint16_t {
  blitz,            ///< weights come over chains from nodes that have them; some copies are always kept
  blitz_multicast,  ///< likewise, and no instance serves before all of its weights are there
  blitz_network,    ///< likewise, and each node pulls from one that has all, without chains
  all_cache,        ///< every node with a place of a model keeps its weights
  serverless,       ///< weights come from the node's own memory or disk, and stay for a time after the last
                    ///< request
  static_full,      ///< as many instances as there are places, always
  static_half       ///< half as many
};
inline constexpr std::array<std::string_view, 7> scaling_policy_names{
    "blitz", "blitz_multicast", "blitz_network", "all_cache", "serverless", "static_full", "static_half"};

}  // namespace troupe
