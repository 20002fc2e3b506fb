#include "tools/sim/scaling_check.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe::sim {
namespace {

constexpr double rounding = 1e-6;

/// Some resource of so many instances is used above this bound.
bool exceeds(const scaling_decision& d, uint32_t instances, double resource_state::*bound) {
  return std::ranges::any_of(d.resources, [&](const resource_state& r) {
    return r.of_instance > 0 && r.demand > r.*bound * r.of_instance * instances + rounding;
  });
}

/// The same of the resources of one phase.
bool exceeds(const scaling_decision& d, bool prefill, uint32_t instances, double resource_state::*bound) {
  auto of_phase = d;
  std::erase_if(of_phase.resources, [&](const auto& r) { return (r.resource == "prefill") != prefill; });
  return exceeds(of_phase, instances, bound);
}

std::string problem_of_phases(const scaling_decision& d, const llm_spec& m) {
  const auto from = d.from - d.from_prefill, to = d.to - d.to_prefill;  // that decode
  const auto wrong = [&](std::string_view what) {
    return fmt::format("model {} from {} + {} to {} + {} instances: {}", d.model, d.from_prefill, from,
                       d.to_prefill, to, what);
  };
  if (d.to < m.min_instances || d.to > m.max_instances) return wrong("beyond the limits of the model");
  if ((d.to_prefill == 0) != (to == 0)) return wrong("one phase without the other");
  const bool more_prefill = d.to_prefill > d.from_prefill, more_decode = to > from;
  if (d.from > 0 && more_prefill && !exceeds(d, true, d.from_prefill, &resource_state::high))
    return wrong("those that prefill carry the load");
  if (d.from > 0 && more_decode && !more_prefill && !exceeds(d, false, from, &resource_state::high) &&
      !exceeds(d, true, d.from_prefill, &resource_state::high))
    return wrong("those that decode carry the load");
  if (d.to_prefill + 1 < d.from_prefill && !more_decode) return wrong("more than one fewer prefills");
  if (to + 1 < from) return wrong("more than one fewer decodes");
  return {};
}

std::string problem_alone(const scaling_decision& d, const llm_spec& m) {
  const auto wrong = [&](std::string_view what) {
    return fmt::format("model {} from {} to {} instances: {}", d.model, d.from, d.to, what);
  };
  if (m.disaggregated()) return problem_of_phases(d, m);
  if (d.to < m.min_instances || d.to > m.max_instances) return wrong("beyond the limits of the model");
  if (d.to > d.from) {
    if (!exceeds(d, d.from, &resource_state::high) && d.from >= m.min_instances)
      return wrong("those that are ordered carry the load");
    if (d.to > m.min_instances && !exceeds(d, d.to - 1, &resource_state::low))
      return wrong("more than the load needs");
    return {};
  }
  if (d.to + 1 != d.from) return wrong("not one fewer");
  if (exceeds(d, d.to, &resource_state::low)) return wrong("the load needs them");
  return {};
}

}  // namespace

std::string problem_with(std::span<const scaling_decision> decisions, const cluster_spec& cluster) {
  for (size_t i = 0; i < decisions.size(); ++i) {
    const auto& d = decisions[i];
    const auto m = std::ranges::find(cluster.llms, d.model, &llm_spec::name);
    if (m == cluster.llms.end()) return fmt::format("there is no model {}", d.model);
    if (auto problem = problem_alone(d, *m); !problem.empty()) return problem;
    const auto before = std::ranges::find(decisions.subspan(i + 1), d.model, &scaling_decision::model);
    if (d.to < d.from && !m->disaggregated() && before != decisions.end() &&
        before->age - d.age < m->loop.scale_down)
      return fmt::format("model {} from {} to {} instances: only {:.3f} s after the decision before", d.model,
                         d.from, d.to, to_seconds(before->age - d.age));
  }
  return {};
}

}  // namespace troupe::sim
