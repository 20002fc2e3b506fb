// Planner of Nexus: which models run on which slots, planned again every epoch (Shen et al., SOSP 2019,
// §6.1).
#pragma once
#include <map>
#include <span>
#include <vector>

#include "policies/baselines/squishy_packing.hpp"
#include "policies/matchmaking/matchmaking.hpp"

namespace troupe {

/// Packs models onto the slots that have them: at once when slots or models are added, removed or changed,
/// and with the newly measured rates at the end of every epoch with load. Slots with the same models are
/// packed together (squishy_packing.hpp); a model in several such groups is divided among them by their
/// numbers of slots.
///
/// Only the proportions of rates count. Before any rate is measured they are the models' weights. A model
/// that was silent for an epoch is planned at one request a second; one that is younger than an epoch at the
/// mean of the others. If more models share slots than can take turns in time, they are distributed evenly
/// over the slots, and early drop handles the excess.
class nexus_planner {
 public:
  /// Nexus plans for tens of seconds; the paper's minimum between plans is 10 s.
  static constexpr duration epoch = 10s;

  void set_profile(model_id model, const model_profile& p);
  /// Sets the models of the slot.
  void set_slot(slot_id slot, std::span<const model_id> models);
  void remove_slot(slot_id slot);
  void count_requests(model_id model, uint64_t requests, time_point now);

  /// When to `make` the next plan.
  time_point due() const { return changed_ ? long_ago : epoch_ends_; }

  struct placed {
    model_id model;
    uint32_t batch;  ///< planned rows
    double rate;     ///< planned rows a second, in proportion to the model's other slots
  };
  /// By slot: the models that take turns there.
  using plan = std::map<slot_id, std::vector<placed>>;
  plan make(time_point now);

 private:
  struct known_model {
    model_profile profile;
    uint64_t requests = 0;  ///< in this epoch
    double rate = 0;        ///< requests a second in the last epoch; 0: younger than an epoch
  };

  void end_epoch();
  double rate_of(const known_model& m) const;
  void pack(const std::vector<slot_id>& slots, const std::vector<model_id>& models,
            const std::map<model_id, size_t>& slots_of, plan& out) const;

  std::map<model_id, known_model> models_;
  std::map<slot_id, std::vector<model_id>> slots_;
  bool changed_ = false;
  bool measured_ = false;
  time_point epoch_ends_ = never;  // `never` until there is load in the epoch
};

}  // namespace troupe
