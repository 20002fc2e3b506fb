// The measure `llm` of experiments: a whole cluster in virtual time that generates sequences, as `troupe
// replay --simulate` has it (Punica, Figures 11 and 13).
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "tools/lab/measures.hpp"

namespace troupe::lab {

/// `policy` is one of llm_policy_names(). If all requests come at once there are `s.search.requests` of
/// them. Throws std::runtime_error if the run breaks what must always hold.
///
/// Metrics: `tokens_per_s` to the last token, `mean_batch` (tokens a step), `completed` (a fraction),
/// `ttft_p99_ms`, `tpot_p50_ms`, `tpot_p99_ms`; and of a run with a rate
///   idle_share    of the engines' time, without any sequence
///   idle_minutes  of their time, in stretches of a minute at least without one: to be given back meanwhile
///   stays_idle    idle_minutes over idle_share
///   full_share    of the engines' time with sequences, with 7/8 at least of those that fit
///   moved         sequences, so that engines run empty
sample measure_llm(const scenario& s, std::string_view policy, uint64_t seed, bool quick);

/// Means over the seeds; the time line of the first.
void summarise_llm(const std::vector<sample>& samples, point& out);

/// What engines were busy with, from samples ten a second of the sequences on each.
struct engine_use {
  double idle_share = 0, idle_minutes = 0, stays_idle = 0, full_share = 0;
};
engine_use use_of(const std::vector<std::vector<uint32_t>>& sequences, uint32_t max_sequences);

}  // namespace troupe::lab
