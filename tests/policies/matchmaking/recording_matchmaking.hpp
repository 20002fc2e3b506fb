// A matchmaking policy that records its slots and profiles, and matches nothing.
#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "policies/matchmaking/matchmaking.hpp"

namespace troupe::test {

struct recording_matchmaking final : matchmaking_policy {
  void add_slot(slot_id slot, time_point free_at) override { slots[slot].free_at = free_at; }
  void remove_slot(slot_id slot) override { slots.erase(slot); }
  void set_models(slot_id slot, std::span<const model_id> models) override {
    slots[slot].models.assign(models.begin(), models.end());
  }
  void set_candidate(model_id, const batch_window&, duration) override {}
  void remove_model(model_id, time_point) override {}
  void occupy(model_id, slot_id, time_point) override {}
  void set_free_at(slot_id slot, time_point free_at) override { slots[slot].free_at = free_at; }
  void set_rows(slot_id slot, uint32_t rows) override { slots[slot].rows = rows; }
  void set_profile(model_id model, const model_profile& p) override { profiles.emplace_back(model, p); }
  void poll(time_point, std::vector<match>&) override {}
  time_point wake_at() const override { return never; }

  struct told {
    time_point free_at = never;
    std::vector<model_id> models;
    uint32_t rows = 0;
  };
  std::map<slot_id, told> slots;
  std::vector<std::pair<model_id, model_profile>> profiles;  ///< in the order in which they came
};

}  // namespace troupe::test
