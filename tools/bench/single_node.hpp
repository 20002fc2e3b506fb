// The addresses of a measurement that has one node.
#pragma once
#include <cstdint>

#include "messages/common/ids.hpp"

namespace troupe {

inline constexpr node_id single_node{0};
inline constexpr incarnation_id single_life{1};

constexpr address actor_here(role kind, uint32_t index = 0) {
  return {single_node, single_life, kind, index};
}

}  // namespace troupe
