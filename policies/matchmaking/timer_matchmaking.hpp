// Symphony's matchmaking (§3.2, Fig. 18): a timer for every candidate and one for the next slot.
#pragma once
#include "policies/common/tournament.hpp"
#include "policies/matchmaking/matchmaking.hpp"

namespace troupe {

/// A candidate is due one network delay before its `exec_at`. If a slot is free by then, the candidate gets
/// it; otherwise it waits. The next slot to become free is due before that by the largest delay of the
/// waiting candidates; it goes to the waiting candidate with the earliest `latest` (ties: the lower model
/// id). A candidate that can no longer start in time is removed; its queue will offer a new one. Pairs of
/// slot and model that do not fit are skipped, at one search each.
class timer_matchmaking : public matchmaking_policy {
 public:
  void add_slot(slot_id slot, time_point free_at) final;
  void remove_slot(slot_id slot) final;
  void set_models(slot_id slot, std::span<const model_id> models) final;
  void set_candidate(model_id model, const batch_window& window, duration delay) final;
  void remove_model(model_id model, time_point now) final;
  void occupy(model_id model, slot_id slot, time_point free_at) final;
  void set_free_at(slot_id slot, time_point free_at) final;
  void poll(time_point now, std::vector<match>& out) final;
  time_point wake_at() const final;

 protected:
  using slot_times = tournament<time_point>;  ///< when each slot becomes free; absent: removed or promised
  /// Selects one of the slots that are free at `start`; `npos` if there is none.
  virtual uint32_t choose(const slot_times& free_at, time_point start) const = 0;

 private:
  struct model_state {
    batch_window candidate;
    duration delay{};
    bool unanswered = false;  ///< a match awaits its `occupy`
    slot_id matched;          ///< slot of that match; `no_slot` if the slot was removed
  };
  enum class slot_state : uint8_t { unknown, known, promised };

  static constexpr slot_id no_slot{slot_times::npos};

  void schedule(uint32_t model);
  void unschedule(uint32_t model);
  bool fits(uint32_t model, uint32_t slot) const;
  uint32_t slot_for(uint32_t model, time_point start);
  uint32_t model_for(uint32_t slot);
  void unpark_all();
  void make_match(uint32_t model, uint32_t slot, std::vector<match>& out);
  slot_state state_of(slot_id slot) const;
  time_point slot_comes_up_at() const;

  std::vector<model_state> models_;
  std::vector<slot_state> slots_;
  slot_times free_at_{never};
  std::vector<std::vector<bool>> serves_;  // by slot, then model; empty: all
  // Free slots that have none of the waiting models; parked until the next change.
  std::vector<std::pair<uint32_t, time_point>> parked_;
  std::vector<std::pair<uint32_t, time_point>> skipped_;  // reused
  tournament<time_point> coming_up_{never};               // models by the due time of their candidates
  // Models whose due candidates found no slot, in two orders.
  tournament<time_point> waiting_by_latest_{never};
  tournament<duration> waiting_by_delay_{duration::max()};  // negated: the largest delay first
};

/// Selects the free slot with the lowest id, so that high ids stay idle at low load (Symphony §3.2).
class lowest_id final : public timer_matchmaking {
  uint32_t choose(const slot_times& free_at, time_point start) const override {
    return free_at.first_within(start);
  }
};

/// Selects the slot that became free first, as in Symphony's code.
class earliest_free final : public timer_matchmaking {
  uint32_t choose(const slot_times& free_at, time_point start) const override {
    return free_at.best() <= start ? free_at.first() : slot_times::npos;
  }
};

}  // namespace troupe
