// Names of the nodes of a small cluster, and of their incarnations.
#pragma once
#include "messages/common/ids.hpp"

namespace troupe::test {

inline constexpr node_id head_node{0}, left_node{1}, right_node{2};
inline constexpr incarnation_id an_incarnation{10}, its_successor{11};

}  // namespace troupe::test
