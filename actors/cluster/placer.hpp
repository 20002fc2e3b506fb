// placer balances the models over the scheduling domains. Every epoch it queries the model queues for their
// received requests, searches for a better partition (policies/placement/partition_search.hpp, Symphony
// §4.4), and lets the deployer move the models one after the other, so that only one at a time takes memory
// in two domains.
//
// Plans use the rates of the last epoch: there is no plan in the first epoch, nor while a model moves.
#pragma once
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "actors/runtime/actor.hpp"
#include "messages/cluster/cluster.hpp"
#include "messages/cluster/commands.hpp"
#include "policies/placement/partition.hpp"

namespace troupe {

class placer final : public actor {
 public:
  /// `cluster` has domains, and outlives it.
  placer(address self, outbox& out, const cluster_spec& cluster);

  void on(envelope& e, time_point now) override;
  void on_time(time_point now) override;
  time_point next_wakeup() const override { return next_epoch_; }
  void report(std::vector<metric>& out) const override;
  command_reply on_command(const command& c, time_point now) override;

 private:
  /// The requests that a queue had received at some time.
  struct sample {
    uint64_t received = 0;
    time_point at = never;
  };
  struct move {
    model_id model;
    uint32_t to = 0;
  };

  void on_answer(const received_requests& r, time_point now);
  void begin_epoch(time_point now);
  void plan();
  void start_next_move();
  bool is_served(model_id model) const;
  placer_state describe() const;

  const cluster_spec& cluster_;
  partition_problem problem_;  ///< its parts; the models are filled in every epoch
  std::map<model_id, deployment> lines_;
  std::map<model_id, sample> samples_;
  std::map<model_id, double> rates_;    ///< requests a second, over the last epoch
  std::map<uint64_t, model_id> asked_;  ///< queues that have not answered, by token
  bool complete_ = false;               ///< all have answered
  uint64_t next_token_ = 1;
  std::deque<move> planned_;
  std::optional<move> moving_;
  time_point next_epoch_ = long_ago;  ///< the first turn sets it
  uint64_t epochs_ = 0, moves_ = 0;
  partition_quality quality_;  ///< of the assignment at the latest plan
  std::string problem_text_;
};

}  // namespace troupe
