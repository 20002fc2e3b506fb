// Random multicast problems over four kinds of networks.
#pragma once
#include <cstdint>

#include "policies/common/random.hpp"
#include "policies/scaling/multicast_problem.hpp"

namespace troupe {

/// Rates of a network's links: equal; the lower rate of both nodes; by whether both are under one leaf
/// switch; each one drawn between 1 and 400 Gbit/s.
enum class network_kind : uint8_t { equal, by_node, by_leaf, arbitrary };

/// 1 to 140 GB without domains. `sources` and `targets` are the most there may be; `exactly`: there are as
/// many.
multicast_problem random_multicast(random_stream& random, network_kind kind, uint32_t sources,
                                   uint32_t targets, bool exactly = false);

}  // namespace troupe
