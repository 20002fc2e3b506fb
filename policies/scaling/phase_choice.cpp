#include "policies/scaling/phase_choice.hpp"

#include <algorithm>
#include <tuple>

namespace troupe {

std::vector<phase_order> choose_phases(std::span<const phased_instance> serving, uint32_t starting,
                                       uint32_t prefill) {
  if (serving.empty()) return {};
  const auto total = serving.size() + starting;
  const auto wanted = total > prefill ? total - prefill : 0;
  const auto decode = std::min(wanted, serving.size() - 1);
  std::vector<phased_instance> ranked(serving.begin(), serving.end());
  std::ranges::sort(ranked, {}, [](const phased_instance& i) {
    const auto sequences = static_cast<int64_t>(i.sequences);
    const bool decodes = i.phase == instance_phase::decode;
    return std::tuple(!decodes, decodes ? -sequences : sequences, i.engine);
  });
  std::vector<phase_order> out;
  for (size_t i = 0; i < ranked.size(); ++i) {
    const auto to = i < decode ? instance_phase::decode : instance_phase::prefill;
    if (ranked[i].phase != to) out.push_back({ranked[i].engine, to});
  }
  std::ranges::sort(out, {}, &phase_order::engine);
  return out;
}

std::vector<phase_order> choose_phases(const scaling_view& v, const instance_choice& instances) {
  std::vector<phase_order> out;
  for (const auto& m : v.models) {
    if (m.prefill == 0) continue;
    std::vector<phased_instance> serving;
    uint32_t starting = 0;
    for (const auto& p : v.places) {
      if (p.model != m.id) continue;
      starting += std::ranges::count(instances.starting, p.engine) > 0;
      const bool stays = std::ranges::count(instances.orders, p.engine, &stage_order::engine) == 0;
      if (p.stage == instance_stage::serving && v.counts(p) && stays)
        serving.push_back({p.engine, p.phase, p.sequences});
    }
    const auto orders = choose_phases(serving, starting, m.prefill);
    out.insert(out.end(), orders.begin(), orders.end());
  }
  return out;
}

}  // namespace troupe
