// How language models scale: the numbers of instances of an [[llm]], its [llm.scaling], and [scaling].
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "config/sections.hpp"

namespace troupe {
namespace {

constexpr int64_t instance_limit = 1 << 20;

uint32_t read_instance_count(section& s, std::string_view key, int64_t min, uint32_t fallback) {
  return static_cast<uint32_t>(s.integer(key, min, instance_limit, fallback));
}

/// The first of these that is wrong: max_instances, min_instances, instances.
void check_instances(section& s, const llm_spec& m, uint32_t places) {
  if (m.max_instances > places) {
    s.refuse("max_instances", fmt::format("must be at most {}, the places of the model (its nodes times "
                                          "engines_per_node), not {}; lower it, or add places",
                                          places, m.max_instances));
    return;
  }
  const auto at_most =
      s.has("max_instances")
          ? fmt::format("max_instances = {}", m.max_instances)
          : fmt::format("{}, the places of the model (its nodes times engines_per_node)", m.max_instances);
  const auto refuse_more = [&](std::string_view key, uint32_t count) {
    s.refuse(key, fmt::format("must be at most {}, not {}; lower it, or {}", at_most, count,
                              s.has("max_instances") ? "raise that" : "add places"));
  };
  if (m.min_instances > m.max_instances)
    refuse_more("min_instances", m.min_instances);
  else if (m.instances > m.max_instances)
    refuse_more("instances", m.instances);
  else if (m.instances < m.min_instances)
    s.refuse("instances", fmt::format("must be at least min_instances = {}, not {}; raise it, or lower that",
                                      m.min_instances, m.instances));
}

/// Of a lower bound, and of the upper one behind it.
void read_bounds(section& s, std::string_view low_key, std::string_view high_key, double& low, double& high) {
  low = s.number(low_key, "a fraction", 0.01, 1, low);
  high = s.number(high_key, "a fraction", 0.01, 1, high);
  if (low >= high) s.refuse(low_key, fmt::format("must be less than {} = {}, not {}", high_key, high, low));
}

/// [llm.scaling]. `known`: the numbers of instances are valid.
void read_scaling_loop(section& root, llm_spec& m, bool known) {
  auto* s = root.table("scaling");
  if (s == nullptr) return;
  constexpr std::array<std::string_view, 3> modes{"off", "advise", "apply"};  // as in `autoscale_mode`
  auto& loop = m.loop;
  loop.mode =
      static_cast<autoscale_mode>(s->choice("mode", modes, static_cast<size_t>(autoscale_mode::advise)));
  read_bounds(*s, "prefill_low", "prefill_high", loop.prefill_low, loop.prefill_high);
  read_bounds(*s, "decode_low", "decode_high", loop.decode_low, loop.decode_high);
  loop.window = s->seconds("window_s", 0.1, 3600, 2);
  loop.backlog = s->seconds("backlog_s", 0.1, 3600, 5);
  loop.scale_down = s->seconds("scale_down_s", 0.1, 86'400, 2);
  if (loop.mode != autoscale_mode::off && known && m.min_instances == m.max_instances)
    s->refuse(
        fmt::format("the model always has {} instances; lower min_instances, raise max_instances, or "
                    "remove this table",
                    m.max_instances));
}

/// Models have a fixed number of instances, whatever their own keys say.
void fix_instances(llm_reading& llms, bool half) {
  for (uint32_t i = 0; i < llms.llms.size(); ++i) {
    auto& m = llms.llms[i];
    if (!m.scales) continue;
    const auto places =
        static_cast<uint32_t>(std::ranges::count(llms.engines, llm_id{i}, &engine_spec::model));
    m.instances = m.min_instances = m.max_instances = half ? (places + 1) / 2 : places;
    m.loop.mode = autoscale_mode::off;
    if (!m.disaggregated()) continue;
    if (m.instances < 2) {
      m.prefill_instances = m.decode_instances = 0;
      for (auto& e : llms.engines)
        if (e.model == llm_id{i}) e.phase = instance_phase::both;
      continue;
    }
    const auto apart = m.prefill_instances + m.decode_instances;  // the numbers keep their proportion
    m.prefill_instances = std::clamp(m.instances * m.prefill_instances / apart, 1u, m.instances - 1);
    m.decode_instances = m.instances - m.prefill_instances;
  }
}

/// The policy, and the keys that depend on it.
void read_policy(section& s, scaling_spec& out) {
  out.policy = static_cast<scaling_policy>(s.choice("policy", scaling_policy_names, 0));
  const bool serverless = out.policy == scaling_policy::serverless;
  if (serverless)
    out.keep = s.seconds("keep_s", 0, 86'400, 300);
  else
    s.unused("keep_s", "it is for policy = \"serverless\"; remove the key");
  if (serverless)
    s.unused("copies", "nodes keep no weights for others with policy = \"serverless\"; remove the key");
  else if (out.policy == scaling_policy::all_cache)
    s.unused("copies", "every node keeps the weights with policy = \"all_cache\"; remove the key");
  else
    out.copies = static_cast<uint32_t>(s.integer("copies", 1, 16, out.copies));
  if (serverless) out.copies = 0;
}

}  // namespace

void read_instances(section& s, llm_spec& m, std::optional<uint32_t> places) {
  constexpr std::array keys{"instances", "min_instances", "max_instances", "cold_start_s"};
  m.scales = std::ranges::any_of(keys, [&](const char* key) { return s.has(key); });
  if (!m.scales) {
    for (const auto* key : keys) s.unused(key);
    s.unused("scaling",
             "the model does not scale; give it min_instances or max_instances, or remove this table");
    m.instances = m.min_instances = m.max_instances = places.value_or(0);
    return;
  }
  const auto problems = s.owner().problem_count();
  m.min_instances = read_instance_count(s, "min_instances", 0, 1);
  m.instances = read_instance_count(s, "instances", 0, s.has("min_instances") ? m.min_instances : 1);
  if (!s.has("min_instances") && m.instances == 0) {
    m.min_instances = 0;
    s.recorded("min_instances").value = int64_t{0};
  }
  m.max_instances = read_instance_count(s, "max_instances", 1, std::max(places.value_or(1), 1u));
  const bool clear = s.owner().problem_count() == problems;
  if (clear && places) check_instances(s, m, *places);
  read_scaling_loop(s, m, clear && places);
  if (m.min_instances == 0)
    m.cold_start = s.seconds("cold_start_s", 0.001, 3600, 30);
  else
    s.unused(
        "cold_start_s",
        clear ? "is for a model that may have no instance; give min_instances = 0, or remove this key" : "");
}

scaling_spec read_scaling(section& root, llm_reading& llms, bool keeps_files) {
  scaling_spec out;
  const bool scales = std::ranges::any_of(llms.llms, &llm_spec::scales);
  if (!scales && !keeps_files) {
    root.unused("scaling",
                "no language model scales; give an [[llm]] min_instances or max_instances, a worker "
                "parameter_mb, or remove this table");
    return out;
  }
  auto& s = root.table_or_empty("scaling");
  if (scales)
    read_policy(s, out);
  else
    for (const auto* key : {"policy", "keep_s", "copies", "park_s"})
      s.unused(key, "no language model scales; remove the key");
  out.chunk_bytes =
      static_cast<uint64_t>(s.integer("chunk_kb", 64, 65536, static_cast<int64_t>(out.chunk_bytes >> 10)))
      << 10;
  out.window = static_cast<uint32_t>(s.integer("window", 1, 64, out.window));
  if (!scales) return out;
  out.park = s.seconds("park_s", 0, 86'400, 60);
  if (!llms.placed) return out;
  if (out.policy == scaling_policy::static_full || out.policy == scaling_policy::static_half)
    fix_instances(llms, out.policy == scaling_policy::static_half);
  for (uint32_t i = 0; i < llms.llms.size(); ++i) {
    if (!llms.llms[i].scales) continue;
    std::set<node_id> nodes;
    for (const auto& e : llms.engines)
      if (e.model == llm_id{i}) nodes.insert(e.node);
    if (out.copies <= nodes.size()) continue;
    s.refuse("copies", fmt::format("must be at most {}, the nodes of language model '{}', not {}; lower it, "
                                   "or give the model more nodes",
                                   nodes.size(), llms.llms[i].name, out.copies));
    return out;
  }
  return out;
}

}  // namespace troupe
