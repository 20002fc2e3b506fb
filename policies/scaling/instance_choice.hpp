// Decides which engines serve, from the wanted numbers of instances (BlitzScale §5.3: the cheapest to start
// comes first).
#pragma once
#include <string>
#include <vector>

#include "policies/scaling/scaling_view.hpp"

namespace troupe {

struct stage_order {
  engine_id engine;
  instance_stage to = instance_stage::serving;
  bool operator==(const stage_order&) const = default;
};

struct instance_choice {
  std::vector<stage_order> orders;  ///< only changes; ascending by model, then by place
  /// Engines that shall serve and do not yet: those that load, and those that wait for room or images.
  std::vector<engine_id> starting;
  std::vector<weights_id> short_of_places;  ///< models with fewer places than wanted instances
};

/// - An instance starts where that is cheapest: a draining engine serves again, then a parked one, then an
///   idle one on a node that has the images, gets them, is in a scale-up domain with one that has them, or is
///   in none. Among these, nodes from which nothing has to go come first, then those with the fewest engines.
/// - It stops where that is cheapest: an engine that still loads (the last one first), then one of the phase
/// that has
///   too many, then the one with the fewest sequences.
/// - Engines that are parked for too long become idle. Those that load where they cannot serve do too.
/// - Engines stay within `max_engines` and the capacity of their node. Parked engines make room, and images
///   of which enough other complete copies exist. An idle engine gets its order when it has that room, and
///   when its node lists the images.
/// - Engines on nodes that leave do not count, and are left alone once they serve.
instance_choice choose_instances(const scaling_view& v);

}  // namespace troupe
