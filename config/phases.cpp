#include <fmt/format.h>

#include "config/sections.hpp"

namespace troupe {
namespace {

/// The leader gives instances their phases; one that has just loaded prefills first.
void read_scaled_phases(section& s, llm_spec& m, std::span<engine_spec> engines) {
  const auto sum = m.prefill_instances + m.decode_instances;
  const auto given = fmt::format("{} + {}", m.prefill_instances, m.decode_instances);
  if (s.has("instances") && m.instances != sum)
    return s.refuse("instances",
                    fmt::format("must be {} of disaggregated, not {}; remove this key", given, m.instances));
  if (sum > m.max_instances)
    return s.refuse("disaggregated",
                    fmt::format("prefill + decode must be at most {}, the most instances of the model, "
                                "not {}; lower them, or add places or raise max_instances",
                                m.max_instances, given));
  if (sum < m.min_instances)
    return s.refuse(
        "disaggregated",
        fmt::format("prefill + decode must be at least min_instances = {}, not {}", m.min_instances, given));
  m.instances = sum;
  s.recorded("instances").value = int64_t{sum};
  for (auto& e : engines) e.phase = instance_phase::prefill;
}

}  // namespace

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
  if (!counted) return;
  if (m.scales) return read_scaled_phases(s, m, engines);
  if (m.prefill_instances + m.decode_instances != engines.size())
    return s.refuse("disaggregated",
                    fmt::format("prefill + decode must be {}, the places of the model (its nodes times "
                                "engines_per_node), not {} + {}",
                                engines.size(), m.prefill_instances, m.decode_instances));
  for (size_t i = 0; i < engines.size(); ++i)
    engines[i].phase = i < m.prefill_instances ? instance_phase::prefill : instance_phase::decode;
}

}  // namespace troupe
