#include <fmt/format.h>

#include "config/sections.hpp"

namespace troupe {

void read_phases(section& s, llm_spec& m, std::span<engine_spec> engines, bool counted) {
  auto* t = s.table("disaggregated");
  if (t == nullptr) return;
  const auto problems = s.owner().problem_count();
  m.prefill_instances = static_cast<uint32_t>(t->integer("prefill", 1, 1 << 20));
  m.decode_instances = static_cast<uint32_t>(t->integer("decode", 1, 1 << 20));
  if (s.owner().problem_count() > problems) return;
  if (m.device == device_kind::cuda)
    return s.refuse(
        "disaggregated",
        "KV blocks on GPUs are not handed over yet; give device = \"cpu\" or \"emulated\", or remove "
        "this key");
  if (m.scales)
    return s.refuse("disaggregated",
                    "is for a model that does not scale; remove this key, or the numbers of its instances");
  const auto sum = m.prefill_instances + m.decode_instances;
  if (!counted) return;
  if (sum != engines.size())
    return s.refuse("disaggregated",
                    fmt::format("prefill + decode must be {}, the places of the model (its nodes times "
                                "engines_per_node), not {} + {}",
                                engines.size(), m.prefill_instances, m.decode_instances));
  for (size_t i = 0; i < engines.size(); ++i)
    engines[i].phase = i < m.prefill_instances ? instance_phase::prefill : instance_phase::decode;
}

}  // namespace troupe
