// Where Nexus runs its models, and how a backend takes turns (Shen et al., SOSP 2019, §6), a baseline of the
// Symphony paper.
#pragma once
#include "policies/baselines/nexus_planner.hpp"
#include "policies/common/tournament.hpp"
#include "policies/matchmaking/matchmaking.hpp"

namespace troupe {

/// Every slot runs the models that were placed on it (nexus_planner.hpp) in turn, if they have something to
/// run there, without a pause. `set_models` says what a slot has, `set_profile` what a model is like; without
/// both nothing runs. A slot whose turn is that of a model with an unanswered match waits for the answer.
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
    uint32_t turn;  ///< the model's there
  };
  struct model_state {
    batch_window candidate;
    bool anywhere = false;  ///< it is for all its slots
    duration delay{};
    bool unanswered = false;
    slot_id matched = no_slot;
    std::vector<place> places;      ///< by slot
    std::vector<backend> backends;  ///< as planned, by slot
    bool changed = false;           ///< them to the queue
    bool reminded = false;          ///< told again as its candidates were for other slots; not heard of since
  };
  struct turn {
    uint32_t model;
    bool ready;  ///< it has something to run here
  };
  struct slot_state {
    bool known = false;
    bool promised = false;  ///< a match on it is unanswered
    time_point free_at = never;
    std::vector<turn> turns;
    size_t next = 0;  ///< whose turn it is
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
  std::vector<uint32_t> changed_;      // models whose queues are to be told their backends
  tournament<time_point> due_{never};  // slots that have something to run, by when they can
};

}  // namespace troupe
