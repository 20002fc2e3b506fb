// What batching policies over a deadline queue share: the queue, shedding, and the largest batch that meets
// its deadline. What is left to a policy is when that batch should start.
#pragma once
#include <algorithm>
#include <limits>

#include "policies/batching/batch_target.hpp"
#include "policies/batching/deadline_queue.hpp"
#include "policies/common/rate_meter.hpp"

namespace troupe {

/// The window holds the longest run of requests from the head of the queue that, started as soon as possible,
/// ends by the earliest of their deadlines. Adding or removing a request inside the window empties it until
/// the next update. `add` drops a request without rows or with more than `max_rows`: it could never run.
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
    uint32_t rows;        ///< of the batch
    uint32_t next_rows;   ///< of the request that would join it next: queued, or else of the smallest to come
    time_point earliest;  ///< when it can start
    time_point finish_by;  ///< when it must have ended
  };
  /// When the batch should start, from `earliest` to `finish_by - ℓ(rows)`.
  virtual time_point exec_at(const gathered& batch) const = 0;
  /// Window shedding gives heads up for the sake of a batch of so many rows.
  virtual double rows_to_protect() const {
    if (rule_ == shedding::staggered) return target_.rows;
    return rows_that_keep_up(parameters_.latency, target_, std::min(load_, 1 / tolerance(load_)));
  }
  /// The largest batch that the policy makes of so many rows.
  virtual uint32_t batch_of(uint32_t rows) const { return rows; }

  const batching_parameters& parameters() const { return parameters_; }
  /// Batches of so many rows take a twentieth more of a slot's time a row than those of the staggered
  /// schedule: with arrivals at random the time of a free slot is worth more than that. Infinite without
  /// window shedding, as in Algorithm 1.
  double rows_worth_waiting_for() const { return worth_waiting_for_; }
  /// How much earlier than its last moment a batch should want to start, so that it then finds a free slot.
  /// Slots that other models use come free at random, one about every ℓ(b) / slots; a model's own batches
  /// keep out of each other's way. In six such gaps none comes free with a probability of e⁻⁶.
  duration search_time(uint32_t rows) const;
  /// When it is no use to wait for more requests, because none has come for six times as long as rows like
  /// the last one's usually take. In a Poisson stream one gap in 400 is as long; where requests come in
  /// bursts it is the end of one.
  time_point arrivals_over() const { return arrivals_over_; }

 private:
  /// How much more of a slot's time a row may take than in the batches of the staggered schedule: a
  /// twentieth, and less in overload, where what is shed for larger batches is lost anyway.
  static double tolerance(double load) { return 1 + 0.05 * std::clamp(2 - load, 0.0, 1.0); }

  /// When and where a batch could start, for the duration of one update.
  struct batch_start {
    time_point now, slot_free_at;
    duration ahead;  ///< how long before its start a slot will be granted, besides the network's delay
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
  duration usual_gap_ = duration::max();  // between rows; max: unknown
  batch_target target_;
  time_point target_until_ = long_ago;
  double load_ = 1;
  double worth_waiting_for_ = std::numeric_limits<double>::infinity();

  batch_window window_;
  size_t window_requests_ = 0;
  time_point wake_at_ = never;
};

}  // namespace troupe
