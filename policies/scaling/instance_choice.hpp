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
  std::vector<stage_order> orders;  ///< only changes; ascending by model, then by engine
  /// Engines that shall serve and do not yet, those being loaded included.
  std::vector<engine_id> starting;
  std::vector<llm_id> short_of_places;  ///< models with fewer places than wanted instances
};

/// An instance starts where that is cheapest: a draining engine serves again, then a parked one, then one on
/// a node that has the images, then any other idle one. It stops where that is cheapest: an engine that still
/// loads (the last one first), then the one with the fewest sequences. Engines that are parked for too long
/// become idle. An engine stays within `max_engines` and the capacity of its node; parked engines of other
/// models make room.
instance_choice choose_instances(const scaling_view& v);

}  // namespace troupe
