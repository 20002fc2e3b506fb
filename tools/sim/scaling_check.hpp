// The invariant of decisions on numbers of instances, judged by the numbers that each gives for itself: they
// follow from the load, within the limits of the model.
#pragma once
#include <span>
#include <string>

#include "messages/cluster/cluster.hpp"
#include "messages/scaling/commands.hpp"

namespace troupe::sim {

/// - More instances: what is ordered cannot carry the load within the upper bounds, and one fewer than the
/// new
///   number would be loaded above a lower bound.
/// - Fewer: exactly one, and the others stay within the lower bounds; not before `scale_down` has passed
/// since
///   the decision before.
/// - Of a model that is disaggregated, likewise for each phase. More may decode because more prefill, and
/// fewer
///   prefill because more decode.
/// `decisions` are of one planner, the newest first. Returns what is wrong with the first bad one; empty:
/// none.
std::string problem_with(std::span<const scaling_decision> decisions, const cluster_spec& cluster);

}  // namespace troupe::sim
