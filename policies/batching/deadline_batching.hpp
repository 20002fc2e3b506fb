// Base of the batching policies over a deadline queue: the queue, shedding, and the largest batch that meets
// its deadlines. A derived policy decides when that batch should start.
#pragma once
#include <algorithm>
#include <limits>

#include "policies/batching/batch_target.hpp"
#include "policies/batching/deadline_queue.hpp"
#include "policies/common/rate_meter.hpp"

namespace troupe {

/// The window holds the longest run of requests from the head of the queue that, started as soon as possible,
/// ends by the earliest of their deadlines. Adding or removing a request inside the window empties the window
/// until the next update. `add` drops a request with zero rows or more than `max_rows`.
class deadline_batching : public batching_policy {
 public:
  deadline_batching(const batching_parameters& p, shedding rule) : parameters_(p), rule_(rule) {}

  void add(const queued_request& t, time_point now) final;
  void remove_if(const std::function<bool(const queued_request&)>& leaves,
                 std::vector<queued_request>& out) final;
  void update(time_point now, time_point slot_free_at) final;
  const batch_window& window() const final { return window_; }
  time_point wake_at() const final { return wake_at_; }
  void take_batch(std::vector<queued_request>& out) final;
  void take_dropped(std::vector<dropped_queued_request>& out) final;
  uint32_t queued_rows() const final { return queue_.rows(); }
  size_t queued_requests() const final { return queue_.size(); }
  const latency_model& latency() const final { return parameters_.latency; }
  void set_latency(const latency_model& latency) final;
  void set_slots(uint32_t slots) final;
  double need() const final { return target_.need; }
  void set_load(double load) final { load_ = load; }

 protected:
  struct gathered {
    uint32_t rows;         ///< of the batch
    uint32_t next_rows;    ///< of the next request in the queue; 1 if there is none
    time_point earliest;   ///< earliest start
    time_point finish_by;  ///< latest end
  };
  /// When the batch should start, from `earliest` to `finish_by - ℓ(rows)`.
  virtual time_point exec_at(const gathered& batch) const = 0;
  /// Rows of the batch for which window shedding drops requests at the head.
  virtual double rows_to_protect() const {
    if (rule_ == shedding::staggered) return target_.rows;
    return rows_that_keep_up(parameters_.latency, target_, std::min(load_, 1 / tolerance(load_)));
  }
  /// Largest batch that the policy forms when `rows` rows fit.
  virtual uint32_t batch_of(uint32_t rows) const { return rows; }

  const batching_parameters& parameters() const { return parameters_; }
  /// Rows at which a batch takes 5 % more slot time per row than one of the staggered schedule. From there on
  /// the policy does not wait for more rows: under random arrivals a free slot is worth more than the saving.
  /// Infinite without window shedding, as in Algorithm 1.
  double rows_worth_waiting_for() const { return worth_waiting_for_; }
  /// How long before its latest start a batch asks for a slot, so that one becomes free in time. Slots that
  /// other models use become free at random, about every ℓ(b) / slots; batches of the same model do not
  /// compete. The time is six such gaps: the probability that no slot becomes free is e⁻⁶.
  duration search_time(uint32_t rows) const;
  /// When to stop waiting for more requests: after a gap of six times the usual one for the rows of the last
  /// request. In a Poisson stream one gap in 400 is as long; in bursty traffic such a gap ends a burst. While
  /// the rate is unknown, after half the duration of a batch of that request: nothing says that more requests
  /// will come. `never` without window shedding.
  time_point arrivals_over() const { return arrivals_over_; }

 private:
  /// Factor on the slot time per row, relative to the staggered schedule: 1.05, and less in overload, where
  /// requests that are shed for larger batches are lost in any case.
  static double tolerance(double load) { return 1 + 0.05 * std::clamp(2 - load, 0.0, 1.0); }

  /// Bounds on the start of a batch, for one update.
  struct batch_start {
    time_point now, slot_free_at;
    duration ahead;  ///< time between the grant and the start of a batch, in addition to the network delay
  };

  time_point earliest_start(uint32_t rows, const batch_start& o) const;
  bool meets(const queued_request& t, uint32_t batch_rows, const batch_start& o) const;
  void look_at_rate(const queued_request& t, time_point now);
  void set_target(time_point now);
  uint32_t protected_rows(time_point now);
  uint32_t rows_that_run_together(const batch_start& o) const;
  uint32_t largest_batch(time_point finish_by, const batch_start& o) const;
  void shed_infeasible_heads(const batch_start& o);
  void gather(const batch_start& o);
  void close_window();

  batching_parameters parameters_;
  shedding rule_;
  deadline_queue queue_;
  std::vector<dropped_queued_request> dropped_;
  rate_meter arrivals_;  // rows
  time_point arrivals_over_ = never;
  duration usual_gap_ = duration::max();  // between rows; `max()`: unknown, or none came
  batch_target target_;
  time_point target_until_ = long_ago;
  double load_ = 1;
  double worth_waiting_for_ = std::numeric_limits<double>::infinity();

  batch_window window_;
  size_t window_requests_ = 0;
  time_point wake_at_ = never;
};

}  // namespace troupe
