// Counters of a trial while it runs, and checks that must hold in every run.
#pragma once
#include <span>
#include <vector>

#include "policies/batching/batching.hpp"
#include "tools/lab/trial.hpp"

namespace troupe::lab {

class trial_statistics {
 public:
  explicit trial_statistics(const trial& t);

  void arrived(uint32_t model, time_point at);
  /// Throws std::logic_error if the batch has more rows than its model allows, begins before the end of the
  /// slot's last batch, or ends too late for one of its requests.
  void started(uint32_t model, uint32_t slot, time_point from, time_point until,
               std::span<const queued_request> batch);
  /// A started batch was preempted: its requests are not served yet, and its time is wasted.
  void stopped(uint32_t model, uint32_t slot, time_point from, time_point until, time_point at,
               std::span<const queued_request> batch);
  trial_result close();

 private:
  struct slot_statistics {
    time_point until = time_point::min();  ///< of its last batch
    std::vector<duration> waited;  ///< of the good requests of that batch, which may still be preempted
  };

  void check(uint32_t model, uint32_t slot, time_point from, time_point until,
             std::span<const queued_request> batch) const;
  void count_waits(slot_statistics& s);
  bool measured(time_point t) const { return t >= from_ && t < until_; }
  duration within(time_point from, time_point until) const;
  bool is_good(uint32_t model, const queued_request& t, time_point until) const;

  const trial& trial_;
  const time_point from_, until_;
  trial_result result_;
  std::vector<slot_statistics> slots_;
};

/// Maps constant-rate arrivals to a changing load: a model's load changes stretch and compress their time.
class load_curve {
 public:
  load_curve(const std::vector<load_change>& changes, uint32_t model);
  /// The real time of an arrival drawn at `drawn` at a constant rate. `drawn` must not decrease.
  /// `duration::max()`: never.
  duration time_of(duration drawn);

 private:
  struct piece {
    duration at, drawn;  ///< where it begins, in both times
    double scale;
  };
  std::vector<piece> pieces_;
  size_t current_ = 0;
};

}  // namespace troupe::lab
