// Symphony's matchmaking (§3.2, Fig. 18): a timer for every candidate and one for the next slot.
#pragma once
#include "policies/common/tournament.hpp"
#include "policies/matchmaking/matchmaking.hpp"

namespace troupe {

/// A candidate comes up one network delay before it wants to start. If a slot is free by then, it gets it;
/// otherwise it waits. The slot that is free next comes up the largest delay among the waiting before it is
/// free, and goes to the waiting candidate with the earliest `latest` (equal: the lower model id) that can
/// still make it. Of slots and models that do not go together the next one is taken; that costs a search
/// for each that is skipped. Candidates that can no longer make it are forgotten: their models will offer new
/// ones.
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
  using slot_times = tournament<time_point>;  ///< when each slot is free; absent: gone or promised
  /// Which of the slots that are free at `start` to take; `npos` if there is none.
  virtual uint32_t choose(const slot_times& free_at, time_point start) const = 0;

 private:
  struct model_state {
    batch_window candidate;
    duration delay{};
    bool unanswered = false;  ///< has a match that `occupy` has not answered
    slot_id matched;          ///< the slot of that match; `no_slot` if it is gone
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
  // Free slots for which only models wait that they do not have, until something changes.
  std::vector<std::pair<uint32_t, time_point>> parked_;
  std::vector<std::pair<uint32_t, time_point>> skipped_;  // reused
  tournament<time_point> coming_up_{never};               // models by when their candidates come up
  // Models whose candidates have come up and found no slot, in two orders.
  tournament<time_point> waiting_by_latest_{never};
  tournament<duration> waiting_by_delay_{duration::max()};  // negated: the largest delay first
};

/// Among the slots that are free the lowest id, so that high ids stay idle at low load (paper §3.2).
class lowest_id final : public timer_matchmaking {
  uint32_t choose(const slot_times& free_at, time_point start) const override {
    return free_at.first_within(start);
  }
};

/// The slot that became free first, as in Symphony's code.
class earliest_free final : public timer_matchmaking {
  uint32_t choose(const slot_times& free_at, time_point start) const override {
    return free_at.best() <= start ? free_at.first() : slot_times::npos;
  }
};

}  // namespace troupe
