// Shepherd's Flex scheduler (Zhang et al., NSDI 2023, §4.2), a baseline of the Symphony paper.
#pragma once
#include "policies/matchmaking.hpp"
#include "policies/tournament.hpp"

namespace troupe {

/// Eager, the largest batch first: a slot that is free takes the model whose candidate has the most rows
/// (equal: the lower id). When none is free, a batch that is `preempts` times as large as the smallest one
/// that runs stops it and takes its slot; what ran there was in vain. Meant for eager candidates: they are
/// offered slots as soon as they come, whatever their `exec_at`. Which models a slot has is not asked.
class shepherd final : public matchmaking_policy {
 public:
  static constexpr double preempts = 3.03;

  void add_slot(slot_id slot, time_point free_at) override;
  void remove_slot(slot_id slot) override;
  void set_models(slot_id, std::span<const model_id>) override {}
  void set_candidate(model_id model, const batch_window& window, duration delay) override;
  void remove_model(model_id model, time_point now) override;
  void occupy(model_id model, slot_id slot, time_point free_at) override;
  void set_free_at(slot_id slot, time_point free_at) override;
  void poll(time_point now, std::vector<match>& out) override;
  time_point wake_at() const override;

 private:
  struct model_state {
    batch_window candidate;
    duration delay{};
    bool unanswered = false;
    slot_id matched{};
    uint32_t matched_rows = 0;
  };
  static constexpr uint32_t npos = ~0u;

  void offer(uint32_t model);
  void withdraw(uint32_t model);
  void make_match(uint32_t model, uint32_t slot, time_point free_at, bool preempting,
                  std::vector<match>& out);
  uint32_t to_preempt(time_point now) const;

  std::vector<model_state> models_;
  std::vector<bool> known_;                       // slots that are there
  tournament<time_point> free_at_{never};         // of slots that are not promised
  tournament<int64_t> running_{INT64_MAX};        // rows of what runs, by slot
  tournament<int64_t> waiting_{INT64_MAX};        // candidates: their rows, negated
  tournament<duration> delays_{duration::max()};  // of these, negated
  bool look_again_ = false;                       // something changed since the last poll
};

}  // namespace troupe
