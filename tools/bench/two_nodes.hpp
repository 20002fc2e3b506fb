// The two nodes of `troupe bench fabric`, each in a process of its own (forked_process.hpp).
#pragma once
#include "transport/fabric/ucx_fabric.hpp"

namespace troupe {

inline constexpr node_id near_node{0}, far_node{1};
inline constexpr incarnation_id incarnation_of_both{1};

inline ucx_options carrier_of(node_id node) {
  ucx_options o;
  o.self = node;
  o.incarnation = incarnation_of_both;
  return o;
}

}  // namespace troupe
