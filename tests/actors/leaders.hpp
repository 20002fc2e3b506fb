// The leaders in tests of leader changes.
#pragma once
#include "messages/cluster/membership.hpp"
#include "tests/actors/stage.hpp"

namespace troupe::test {

inline constexpr node_id standby_node{3};
inline constexpr incarnation_id standby_incarnation{30};
inline constexpr leadership first{{100}, scheduler_node, {10}},
    second{{203}, standby_node, standby_incarnation};
inline constexpr address standby_arbiter{standby_node, standby_incarnation, role::rank_arbiter, 0};
inline constexpr address standby_queue{standby_node, standby_incarnation, role::model_queue, 0};

}  // namespace troupe::test
