// One run of the scheduler on emulated GPUs, in real time and on real threads, at a given rate of requests
// without bytes. `troupe bench schedule` (schedule.hpp) runs many of them.
#pragma once
#include <array>
#include <caf/fwd.hpp>
#include <cstdint>

#include "policies/common/latency_histogram.hpp"
#include "tools/bench/schedule.hpp"
#include "tools/bench/stage_clock.hpp"

namespace troupe {

struct schedule_trial {
  static constexpr duration warmup = 1s, measured = 2500ms;

  uint64_t offered = 0, good = 0, late = 0, dropped = 0;  ///< requests that arrived while it measured
  uint64_t batches = 0, rows = 0;
  latency_histogram admit_to_grant;  ///< of requests: from arrival to the order that answers the grant
  latency_histogram grant_behind;    ///< of batches: how much later than planned that order was
  struct cpu_time {
    double all = 0, kernel = 0;  ///< seconds; `kernel`: the part spent in the kernel
  };
  cpu_time cpu;                                ///< of the process, while it measured
  std::array<duration, stage_count> stages{};  ///< time of each stage over the whole run, if timed

  /// Adds the results of other clients of the same run.
  void merge(const schedule_trial& other);
  double bad_rate() const;
  double mean_batch() const;
  double per_second() const { return static_cast<double>(good) / to_seconds(measured); }
  double per_cpu_second() const { return static_cast<double>(good) / cpu.all; }
};

/// Takes under four seconds. Requires: `domains` and `threads` are not 0. `timed`: measures every stage.
schedule_trial run_schedule_trial(caf::actor_system& system, const bench_schedule_options& options,
                                  double requests_per_second, bool timed = false);

}  // namespace troupe
