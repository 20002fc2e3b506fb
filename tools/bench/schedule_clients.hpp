// The clients of a trial of the scheduler, and their gateway: open-loop requests without bytes.
#pragma once
#include <future>
#include <optional>
#include <vector>

#include "actors/runtime/actor.hpp"
#include "policies/workload/arrivals.hpp"
#include "tools/bench/schedule_trial.hpp"

namespace troupe {

/// Sends the requests that arrived since its last turn, and counts the answers. The id of a request encodes
/// its arrival and its model, so that no state is kept for it. Begins with the first `node_up`.
class schedule_clients final : public actor {
 public:
  struct options {
    std::vector<model_id> models;  ///< the models of these clients
    double rate_of_model = 0;      ///< requests a second, per model
    uint64_t seed = 0;
    duration slo{};
    duration hop{};  ///< the queue's allowance for the delay of an order: a grant comes that much ahead of
                     ///< its plan
  };
  /// `done` gets the results once all answers must have arrived.
  schedule_clients(address self, outbox& out, options o, std::promise<schedule_trial> done);

  void on(envelope& e, time_point now) override;
  void on_time(time_point now) override;
  time_point next_wakeup() const override { return next_turn_; }
  void report(std::vector<metric>&) const override {}

 private:
  struct stream {
    model_id model;
    arrival_process process;
    time_point next;
    submit out;
  };

  void begin(time_point now);
  void arrive(stream& s, time_point until);
  void count(const completion& c, time_point now);
  time_point arrival_of(request_id id) const {
    return start_ + duration{static_cast<int64_t>(id.value >> 16)};
  }
  bool is_measured(time_point arrival) const { return arrival >= from_ && arrival < until_; }

  const options options_;
  std::promise<schedule_trial> done_;
  std::vector<stream> streams_;
  time_point start_ = never, from_ = never, until_ = never, next_turn_ = never;
  std::optional<schedule_trial::cpu_time> began_;
  bool ended_ = false;
  schedule_trial result_;
};

}  // namespace troupe
