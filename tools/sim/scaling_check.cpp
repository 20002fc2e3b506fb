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

std::string problem_alone(const scaling_decision& d, const llm_spec& m) {
  const auto wrong = [&](std::string_view what) {
    return fmt::format("model {} from {} to {} instances: {}", d.model, d.from, d.to, what);
  };
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
    if (d.to < d.from && before != decisions.end() && before->age - d.age < m->loop.scale_down)
      return fmt::format("model {} from {} to {} instances: only {:.3f} s after the decision before", d.model,
                         d.from, d.to, to_seconds(before->age - d.age));
  }
  return {};
}

}  // namespace troupe::sim
