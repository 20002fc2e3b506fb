// Matchmaking of Nexus: placement of models on slots, and the turns on each slot (Shen et al., SOSP 2019,
// §6), a baseline of the Symphony paper.
#pragma once
#include "policies/baselines/nexus_planner.hpp"
#include "policies/common/tournament.hpp"
#include "policies/matchmaking/matchmaking.hpp"

namespace troupe {

/// Every slot runs the models placed on it (nexus_planner.hpp) in turn, skipping those without a batch,
/// without a pause. `set_models` gives the models of a slot, `set_profile` the profile of a model; without
/// both nothing runs. If the next turn belongs to a model with an unanswered match, the slot waits for the
/// answer.
class nexus_matchmaking final : public matchmaking_policy {
 public:
  void add_slot(slot_id slot, time_point free_at) override;
  void remove_slot(slot_id slot) override;
  void set_models(slot_id slot, std::span<const model_id> models) override;
  void set_profile(model_id model, const model_profile& p) override { planner_.set_profile(model, p); }
  void count_requests(model_id model, uint64_t requests, time_point now) override {
    planner_.count_requests(model, requests, now);
  }
  void set_candidate(model_id model, const batch_window& window, duration delay) override {
    set_candidate_on(model, window, delay, {});
  }
  void set_candidate_on(model_id model, const batch_window& window, duration delay,
                        std::span<const slot_id> slots) override;
  void remove_model(model_id model, time_point now) override;
  void occupy(model_id model, slot_id slot, time_point free_at) override;
  void set_free_at(slot_id slot, time_point free_at) override;
  void take_backends(std::vector<model_backends>& out) override;
  void poll(time_point now, std::vector<match>& out) override;
  time_point wake_at() const override { return std::min(due_.best(), planner_.due()); }

 private:
  static constexpr slot_id no_slot{~uint32_t{0}};

  struct place {
    uint32_t slot;
    uint32_t turn;  ///< the model's turn on the slot
  };
  struct model_state {
    batch_window candidate;
    bool anywhere = false;  ///< the candidate is for all its slots
    duration delay{};
    bool unanswered = false;
    slot_id matched = no_slot;
    std::vector<place> places;      ///< by slot
    std::vector<backend> backends;  ///< as planned, by slot
    bool changed = false;           ///< `backends` must be sent to the queue
    bool reminded = false;          ///< sent again for candidates on other slots; no news since
  };
  struct turn {
    uint32_t model;
    bool ready;  ///< it has a batch for this slot
  };
  struct slot_state {
    bool known = false;
    bool promised = false;  ///< a match on it is unanswered
    time_point free_at = never;
    std::vector<turn> turns;
    size_t next = 0;  ///< index of the next turn
  };

  model_state& state_of(uint32_t model);
  void plan(time_point now);
  void take_turns(uint32_t slot, const std::vector<nexus_planner::placed>& models);
  void mark_changed(uint32_t model);
  void withdraw(uint32_t model);
  size_t first_ready(const slot_state& s) const;
  void reconsider(uint32_t slot);
  void reconsider_all(const model_state& m);

  nexus_planner planner_;
  std::vector<model_state> models_;
  std::vector<slot_state> slots_;
  std::vector<uint32_t> changed_;      // models whose queues must get their backends
  tournament<time_point> due_{never};  // slots with a batch to run, by the time they can
};

}  // namespace troupe
