// `troupe bench schedule`: the highest request rate of the scheduler on emulated GPUs, in real time and on
// real threads, and its CPU time. The requests carry no bytes: only decisions are measured.
#pragma once
#include <cstdint>
#include <string>

namespace troupe {

/// Requests a second; higher rates are not tried, because waiting requests would exhaust the memory.
inline constexpr double max_scheduled_rate = 1e7;

struct bench_schedule_options {
  uint32_t models = 10;
  uint32_t gpus = 1024;
  uint32_t domains = 0;  ///< each with an arbiter and a share of models and GPUs; 0: as many as needed
  /// One per domain, which also runs its clients and GPUs; or one more, which then runs all clients and GPUs.
  /// 0: one more if a single domain would overload a thread.
  uint32_t threads = 0;
  double slo_ms = 100;
  double alpha_ms = 1.082;
  double beta_ms = 5.204;
  std::string batching = "deferred";
  uint64_t seed = 1;
  uint32_t decision_log = 0;  ///< remembered requests a model
  double rate = 0;            ///< requests a second; 0: search the highest
  bool sweep = false;         ///< a table over numbers of models and GPUs instead
  bool json = false;
};

/// Searches the highest rate of Poisson arrivals with a bad rate of at most 1 % (dropped, late or lost
/// requests). Deadlines count from the scheduled arrival, which also decides whether a request is measured.
/// Prints a table or, with `json`, {models, gpus, domains, threads, requests_per_s, requests_per_cpu_s,
/// bad_rate, mean_batch, admit_to_grant_ms: {p50, p99}, grant_behind_us: {p50, p99}, matches_per_s, rows:
/// [{name, value, unit, reference, ratio}], profile: [{stage, share, ns_a_request}]}. `grant_behind_us` is
/// the delay of a grant after the planned time of its batch; `matches_per_s` is the limit of the arbiter
/// alone (arbiter_ceiling.hpp). The CPU time is that of the whole process, clients and GPUs included.
/// References: the GPUs' rate in the staggered schedule of the Symphony paper (§3.3), and the requests per
/// CPU second of that paper's own code, measured in the same way. Takes less than a minute. Returns 0, 1 if
/// no rate could be served, 2 for invalid options.
///
/// With `sweep`: one run for each of some numbers of models (1 to 512) and GPUs (1 to 4,096), at 0.9 of the
/// GPUs' rate, but at no more than `rate` (half a million a second if it is 0). JSON: an array of {models,
/// gpus, requests_per_s, bad_rate, requests_per_cpu_s, admit_to_grant_ms, grant_behind_us, matches_per_s}.
/// Takes under two minutes.
int bench_schedule(const bench_schedule_options& options);

}  // namespace troupe
