// Shepherd's Flex scheduler (Zhang et al., NSDI 2023, §4.2), a baseline of the Symphony paper.
#pragma once
#include <utility>

#include "policies/common/tournament.hpp"
#include "policies/matchmaking/matchmaking.hpp"

namespace troupe {

/// Eager, largest batch first: a free slot goes to the candidate with the most rows (ties: the lower model
/// id). If no slot is free, a batch at least `preempts` times as large as the smallest running one preempts
/// it and takes its slot; the work of the preempted batch is lost. A batch that is queued behind another is
/// not preempted. Meant for eager candidates: they are offered slots on arrival, whatever their `exec_at`.
/// Slots without the model are skipped at one search each.
class shepherd final : public matchmaking_policy {
 public:
  static constexpr double preempts = 3.03;

  void add_slot(slot_id slot, time_point free_at) override;
  void remove_slot(slot_id slot) override;
  void set_models(slot_id slot, std::span<const model_id> models) override;
  void set_candidate(model_id model, const batch_window& window, duration delay) override;
  void remove_model(model_id model, time_point now) override;
  void occupy(model_id model, slot_id slot, time_point free_at) override;
  void set_free_at(slot_id slot, time_point free_at) override;
  void set_rows(slot_id slot, uint32_t rows) override;
  void poll(time_point now, std::vector<match>& out) override;
  time_point wake_at() const override;

 private:
  static constexpr uint32_t npos = ~0u;
  static constexpr slot_id no_slot{npos};

  struct model_state {
    batch_window candidate;
    duration delay{};
    bool unanswered = false;
    slot_id matched = no_slot;  ///< of the unanswered match; `no_slot` if the slot was removed
    uint32_t matched_rows = 0;
  };
  struct slot_state {
    bool known = false, promised = false;
    time_point free_at = never;
    uint32_t rows = 0;         ///< of its last batch
    std::vector<bool> serves;  ///< by model; empty: all
  };

  bool is_known(slot_id slot) const { return slot.value < slots_.size() && slots_[slot.value].known; }
  bool fits(uint32_t model, uint32_t slot) const;
  void put(uint32_t slot);
  void offer(uint32_t model);
  uint32_t first_free(uint32_t model);
  uint32_t to_preempt(uint32_t model, time_point now);
  void make_match(uint32_t model, uint32_t slot, time_point free_at, bool preempting,
                  std::vector<match>& out);

  std::vector<model_state> models_;
  std::vector<slot_state> slots_;
  tournament<time_point> free_at_{never};   // of slots without an unanswered match
  tournament<int64_t> running_{INT64_MAX};  // rows of preemptible batches, by slot
  tournament<int64_t> waiting_{INT64_MAX};  // candidates: their rows, negated
  bool look_again_ = false;                 // something changed since the last poll
  time_point retry_at_ = never;             // when a busy slot becomes free for a waiting candidate
  std::vector<std::pair<uint32_t, time_point>> busy_slots_;  // reused, as below
  std::vector<std::pair<uint32_t, int64_t>> skipped_, set_aside_;
};

}  // namespace troupe
