// Decides which instances of a disaggregated model prefill and which decode (BlitzScale §5.3). An instance
// changes its part at once, without any transfer of weights, so more to decode come from those that prefill,
// and instances that are being loaded replace these. Pure.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "policies/scaling/instance_choice.hpp"
#include "policies/scaling/scaling_view.hpp"

namespace troupe {

struct phased_instance {
  engine_id engine;
  instance_phase phase = instance_phase::both;
  uint32_t sequences = 0;  ///< running and waiting
};

struct phase_order {
  engine_id engine;
  instance_phase to = instance_phase::prefill;
  bool operator==(const phase_order&) const = default;
};

/// Of the instances that serve, with `starting` more to come, of which `prefill` are to prefill in the end.
/// At least one of those that serve prefills; of the others as many decode as are wanted. Those with the most
/// sequences stay what decodes, and those with the fewest become it. Only changes, ascending by engine.
std::vector<phase_order> choose_phases(std::span<const phased_instance> serving, uint32_t starting,
                                       uint32_t prefill);

/// Of all models, with the choice of their instances.
std::vector<phase_order> choose_phases(const scaling_view& v, const instance_choice& instances);

}  // namespace troupe
