// Where Nexus runs which models, and when it plans that anew (Shen et al., SOSP 2019, §6.1).
#pragma once
#include <map>
#include <span>
#include <vector>

#include "policies/baselines/squishy_packing.hpp"
#include "policies/matchmaking/matchmaking.hpp"

namespace troupe {

/// Packs the models onto the slots that have them: at once when slots or models come, go or change, and with
/// the rates measured since at the end of every epoch in which there was load. Slots that have the same
/// models are packed together (squishy_packing.hpp); a model that several such groups have is divided among
/// them by the number of their slots.
///
/// Rates count in proportion only. Before any was measured they are the models' weights. A model that was
/// silent for an epoch is planned for a request a second, and one that has not lived through one for the mean
/// of the others. Where more models share slots than can take turns in time, they are dealt out to the slots,
/// and early drop does the rest.
class nexus_planner {
 public:
  /// Nexus plans for tens of seconds; its paper does it again every 10 s at the earliest.
  static constexpr duration epoch = 10s;

  void set_profile(model_id model, const model_profile& p);
  /// What the slot has.
  void set_slot(slot_id slot, std::span<const model_id> models);
  void remove_slot(slot_id slot);
  void count_requests(model_id model, uint64_t requests, time_point now);

  /// When to `make` the next plan.
  time_point due() const { return changed_ ? long_ago : epoch_ends_; }

  struct placed {
    model_id model;
    uint32_t batch;  ///< planned rows
    double rate;     ///< rows a second that it is meant to serve, in proportion to the model's other slots
  };
  /// By slot: the models that take turns there.
  using plan = std::map<slot_id, std::vector<placed>>;
  plan make(time_point now);

 private:
  struct known_model {
    model_profile profile;
    uint64_t requests = 0;  ///< in this epoch
    double rate = 0;        ///< requests a second in the last one; 0: it has not lived through one
  };

  void end_epoch();
  double rate_of(const known_model& m) const;
  void pack(const std::vector<slot_id>& slots, const std::vector<model_id>& models,
            const std::map<model_id, size_t>& slots_of, plan& out) const;

  std::map<model_id, known_model> models_;
  std::map<slot_id, std::vector<model_id>> slots_;
  bool changed_ = false;
  bool measured_ = false;
  time_point epoch_ends_ = never;  // while there was load in it
};

}  // namespace troupe
