// The measure `llm` of experiments: a cluster in virtual time that generates sequences, as `troupe replay
// --simulate` does (Punica, Figures 11 and 13).
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "tools/lab/measures.hpp"

namespace troupe::lab {

/// `policy` is one of llm_policy_names(). If all requests arrive at once, their number is
/// `s.search.requests`. Throws std::runtime_error if the run violates an invariant.
///
/// Metrics: `tokens_per_s` up to the last token, `mean_batch` (tokens a step), `completed` (a fraction),
/// `ttft_p99_ms`, `tpot_p50_ms`, `tpot_p99_ms`; and for a run with a rate
///   idle_share    fraction of the engines' time without any sequence
///   idle_minutes  fraction of their time in stretches of a minute or more without one
///   stays_idle    idle_minutes / idle_share
///   full_share    fraction of the engines' busy time with at least 7/8 of `max_sequences`
///   moved         sequences that were migrated so that engines run empty
sample measure_llm(const scenario& s, std::string_view policy, uint64_t seed, bool quick);

/// Utilization of the engines, from ten samples a second of the number of sequences on each.
struct engine_use {
  double idle_share = 0, idle_minutes = 0, stays_idle = 0, full_share = 0;
};
engine_use use_of(const std::vector<std::vector<uint32_t>>& sequences, uint32_t max_sequences);

}  // namespace troupe::lab
