// A run of the measures `scaling` and `chain`: a cluster in virtual time in which the weights of language
// models move, by the same actors as in a real one. Weights have the size of the model only on the
// simulation's links; memory holds a small part of it.
#pragma once
#include <cstdint>
#include <vector>

#include "messages/cluster/cluster.hpp"
#include "tools/sim/world.hpp"

namespace troupe::lab {

inline constexpr uint64_t stored_chunk = 512;  ///< bytes in memory for each chunk

/// A head, and a node for each place.
struct scaling_run {
  double bytes = 0;  ///< of the weights of an instance
  uint32_t layers = 32;
  double chunk_bytes = 4 << 20;  ///< a multiple of `stored_chunk`
  uint32_t window = 4;
  std::vector<link_spec> places;  ///< rates of their nodes; without names
  uint32_t from = 1, to = 1;      ///< instances; those at the start are in the first places
  /// By place: where its node reads a checkpoint of its own. Empty: all places have the same model, and the
  /// leader moves its weights.
  std::vector<sim::image_origin> origins;
  std::vector<uint32_t> chain;  ///< places, in this order and not in the leader's
  duration length{};            ///< of the run after the orders
};

/// By place, with node i + 1 for place i. Throws std::runtime_error if the run violates an invariant, or if
/// an order is refused.
sim::scaling_times run_scaling(const scaling_run& r, uint64_t seed);

/// The name of a place's node.
std::string place_name(uint32_t place);

}  // namespace troupe::lab
