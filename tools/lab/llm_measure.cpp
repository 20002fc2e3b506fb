#include "tools/lab/llm_measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "tools/sim/world.hpp"

namespace troupe::lab {

namespace {

constexpr duration watched_every = 100ms;  // tools/sim/world.hpp
constexpr size_t minute = 60s / watched_every;
constexpr auto patience = 2h;  // clients never give up

cluster_spec cluster_of(const llm_scenario& t, const llm_policy& how, uint32_t adapters, size_t generations) {
  cluster_spec c;
  c.name = "llm";
  c.hash = "0000000000000000";
  c.nodes.resize(2);
  c.nodes[0].name = "head";
  c.nodes[0].roles = {node_role::gateway, node_role::scheduler};
  c.nodes[1].name = "worker";
  c.nodes[1].roles = {node_role::worker};
  c.limits.pool_bytes = 1 << 20;
  c.limits.request_timeout = 500ms;
  c.limits.heartbeat = 1s;
  c.limits.node_timeout = 5s;
  c.limits.drain_timeout = 5s;
  llm_spec m;
  m.name = "llm";
  m.device = device_kind::emulated;
  m.profile = t.profile;
  m.max_positions = t.prompt.max + t.output.max;
  m.emulated_adapters = adapters;
  m.kv_bytes = static_cast<uint64_t>(t.kv_gb * 1e9);
  m.max_sequences = t.max_sequences;
  m.max_waiting = static_cast<uint32_t>(std::max<size_t>(generations, 1024));
  m.mix_adapters = how.mix_adapters;
  m.prefix_cache = false;  // as in the systems compared
  m.timeout = patience;
  m.adapter_slots = t.adapter_slots;
  m.routing = how.routing;
  const bool spreads = how.routing == "least_loaded" || how.routing == "round_robin";
  if (!spreads) m.consolidate_every = t.consolidate_every;
  c.llms = {m};
  c.engines.assign(t.engines, {llm_id{0}, node_id{1}});
  return c;
}

/// Sequences on each engine, requests and tokens a second, step by step.
std::vector<table> time_line(const sim::world_result& r, const std::vector<traced_generation>& generations,
                             duration length) {
  const auto samples = std::max<size_t>(1, r.engine_sequences.size() / 240);  // in a step
  const auto step = watched_every * static_cast<int64_t>(samples);
  table all{"", {"time_s", "offered_rps", "tokens_per_s", "engines_idle"}, {}};
  table batches{"batches", {"time_s", "engine", "sequences"}, {}};
  size_t next = 0;
  uint64_t tokens = 0;
  for (size_t i = 0;
       i + samples <= r.engine_sequences.size() && step * static_cast<int64_t>(i / samples) < length;
       i += samples) {
    const auto begin = watched_every * static_cast<int64_t>(i);
    uint64_t offered = 0;
    for (; next < generations.size() && generations[next].at < begin + step; ++next) ++offered;
    const auto came = r.llm_tokens[i + samples - 1];
    double idle = 0;
    for (size_t e = 0; e < r.engine_sequences[i].size(); ++e) {
      double sum = 0;
      for (size_t k = i; k < i + samples; ++k) sum += r.engine_sequences[k][e];
      idle += sum == 0;
      batches.rows.push_back({to_seconds(begin), static_cast<double>(e), sum / static_cast<double>(samples)});
    }
    all.rows.push_back({to_seconds(begin), static_cast<double>(offered) / to_seconds(step),
                        static_cast<double>(came - tokens) / to_seconds(step), idle});
    tokens = came;
  }
  return {all, batches};
}

}  // namespace

engine_use use_of(const std::vector<std::vector<uint32_t>>& sequences, uint32_t max_sequences) {
  size_t idle = 0, long_idle = 0, full = 0;
  const size_t engines = sequences.empty() ? 0 : sequences.front().size();
  for (size_t e = 0; e < engines; ++e) {
    size_t stretch = 0;
    const auto end_stretch = [&] {
      if (stretch >= minute) long_idle += stretch;
      stretch = 0;
    };
    for (const auto& now : sequences) {
      if (now[e] > 0) {
        end_stretch();
        full += 8 * now[e] >= 7 * max_sequences;
      } else {
        ++stretch;
        ++idle;
      }
    }
    end_stretch();
  }
  const auto all = static_cast<double>(engines * sequences.size()), busy = all - static_cast<double>(idle);
  engine_use out;
  if (all > 0) out.idle_share = static_cast<double>(idle) / all;
  if (all > 0) out.idle_minutes = static_cast<double>(long_idle) / all;
  if (idle > 0) out.stays_idle = static_cast<double>(long_idle) / static_cast<double>(idle);
  if (busy > 0) out.full_share = static_cast<double>(full) / busy;
  return out;
}

sample measure_llm(const scenario& s, std::string_view policy, uint64_t seed, bool quick) {
  const auto& t = *s.llm;
  const auto length = quick ? t.quick_length : t.length;
  workload_spec w;
  w.llm_trace = generations_of(t, s.search.requests, length, seed);
  w.length = t.peak_rps ? length : 1s;
  const auto generations = w.llm_trace;
  const auto adapters = adapter_count(t, request_count(t, s.search.requests, length));
  const auto r =
      sim::world(cluster_of(t, *llm_policy_named(policy), adapters, generations.size()), std::move(w),
                 {.seed = seed,
                  .caf_host_per_actor = false,
                  .drain_at_most = patience,
                  .in_order = true,
                  .steps_ahead = 0,  // as in the engines of the papers
                  .trace_generations = false})
          .run();
  for (const auto& v : r.violations)
    throw std::runtime_error(fmt::format("the simulation violated '{}': {}", v.check, v.what));
  const auto& b = r.llms.back();
  uint64_t steps = 0;
  for (const auto& e : r.engines) steps += e.steps;
  const auto per = [](auto x, auto of) {
    return of > 0 ? static_cast<double>(x) / static_cast<double>(of) : 0.0;
  };
  sample out;
  out.value = per(b.tokens, to_seconds(b.last_token));
  out.metrics = {{"tokens_per_s", out.value},
                 {"mean_batch", per(b.tokens, steps)},
                 {"completed", per(b.of(sim::client_outcome::finished), b.offered)},
                 {"ttft_p99_ms", to_ms(b.first_token.quantile(0.99))},
                 {"tpot_p50_ms", to_ms(b.tpot.quantile(0.5))},
                 {"tpot_p99_ms", to_ms(b.tpot.quantile(0.99))}};
  if (!t.peak_rps) return out;
  const auto use = use_of(r.engine_sequences, t.max_sequences);
  out.metrics["idle_share"] = use.idle_share;
  out.metrics["idle_minutes"] = use.idle_minutes;
  out.metrics["stays_idle"] = use.stays_idle;
  out.metrics["full_share"] = use.full_share;
  out.metrics["moved"] = static_cast<double>(r.routers[0].consolidated);
  out.tables = time_line(r, generations, length);
  return out;
}

}  // namespace troupe::lab
