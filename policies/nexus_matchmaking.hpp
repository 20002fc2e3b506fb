// How a Nexus backend runs its models (Shen et al., SOSP 2019, §6.3), a baseline of the Symphony paper.
#pragma once
#include "policies/matchmaking.hpp"
#include "policies/tournament.hpp"

namespace troupe {

/// Every slot has models of its own (`set_models`) and runs those that have something to run in turn, without
/// a pause. Without `set_models` a slot runs nothing: Nexus places models before it serves them.
class nexus_matchmaking final : public matchmaking_policy {
 public:
  void add_slot(slot_id slot, time_point free_at) override;
  void remove_slot(slot_id slot) override;
  void set_models(slot_id slot, std::span<const model_id> models) override;
  void set_candidate(model_id model, const batch_window& window, duration delay) override;
  void remove_model(model_id model, time_point now) override;
  void occupy(model_id model, slot_id slot, time_point free_at) override;
  void set_free_at(slot_id slot, time_point free_at) override;
  void poll(time_point now, std::vector<match>& out) override;
  time_point wake_at() const override { return due_.best(); }

 private:
  struct model_state {
    batch_window candidate;
    duration delay{};
    bool unanswered = false;
    slot_id matched{};
    std::vector<uint32_t> slots;  ///< that have it
  };
  struct slot_state {
    bool known = false;
    time_point free_at = never;  ///< `never` while promised
    std::vector<uint32_t> models;
    size_t turn = 0;  ///< whose it is next
  };

  model_state& state_of(uint32_t model);
  void reconsider(uint32_t slot);

  std::vector<model_state> models_;
  std::vector<slot_state> slots_;
  tournament<time_point> due_{never};  // slots that have something to run, by when they can
};

}  // namespace troupe
