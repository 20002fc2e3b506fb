// Which model gets which slot: the rank thread of Symphony (§4.2, Fig. 18), as a policy.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "messages/common/ids.hpp"
#include "messages/common/plugin.hpp"
#include "messages/common/time.hpp"
#include "policies/batching/batching.hpp"

namespace troupe {

struct match {
  model_id model;
  slot_id slot;
  time_point free_at;     ///< of the slot
  bool preempts = false;  ///< what the slot runs now is to be stopped; its requests go back to their queue
};

/// What a policy that places models must know of one.
struct model_profile {
  latency_model latency;
  duration slo{};         ///< between an arrival and the end of its batch
  uint32_t max_rows = 0;  ///< a batch; 0: the model is not to be placed
  double weight = 1;      ///< its rate, in proportion to those of the others, as long as none was measured
  bool operator==(const model_profile&) const = default;
};

/// Where a policy has placed a model.
struct model_backends {
  model_id model;
  std::vector<backend> of;  ///< by slot
};

/// Candidates of models on one side, slots with the time they become free on the other. A model has at most
/// one candidate and at most one unanswered match; until `occupy` answers it, the model's candidates are
/// remembered but not matched, and its slot is given to nobody. O(log models + log slots) an event.
class matchmaking_policy {
 public:
  virtual ~matchmaking_policy() = default;

  virtual void add_slot(slot_id slot, time_point free_at) = 0;
  virtual void remove_slot(slot_id slot) = 0;
  /// Only these models may be matched with the slot. A slot that was just added takes all.
  virtual void set_models(slot_id slot, std::span<const model_id> models) = 0;

  /// The model's candidate, replacing its previous one; `rows == 0` withdraws it. `delay`: grant → inputs
  /// there.
  virtual void set_candidate(model_id model, const batch_window& window, duration delay) = 0;
  /// A candidate for these slots only, in their order; none: for all that have the model. A policy that does
  /// not place models need not look: it gets no such candidates.
  virtual void set_candidate_on(model_id model, const batch_window& window, duration delay,
                                std::span<const slot_id>) {
    set_candidate(model, window, delay);
  }
  /// Forgets the model, its candidate and its unanswered match (whose slot becomes free again).
  virtual void remove_model(model_id model, time_point now) = 0;

  /// Answers a match: the slot is busy until `free_at` (in the past or now: it is free).
  virtual void occupy(model_id model, slot_id slot, time_point free_at) = 0;
  /// A slot turns out to be free earlier or later than said. No effect while a match on it is unanswered.
  virtual void set_free_at(slot_id slot, time_point free_at) = 0;
  /// The last batch of the slot has so many rows; 0: it has none. Before that it is as large as the candidate
  /// of its last match, for policies that care.
  virtual void set_rows(slot_id /*slot*/, uint32_t /*rows*/) {}

  // For policies that place models.
  virtual void set_profile(model_id, const model_profile&) {}
  /// So many requests for the model came since this was said last.
  virtual void count_requests(model_id, uint64_t /*requests*/, time_point /*now*/) {}
  /// Moves out what queues must be told: where their models are now. Call after `poll`.
  virtual void take_backends(std::vector<model_backends>&) {}

  /// Makes every match due by `now`, in a fixed order: models whose start has come, by (time, model id), then
  /// slots whose end has come, by (time, slot id).
  virtual void poll(time_point now, std::vector<match>& out) = 0;
  /// When to poll next; `never` if nothing is pending.
  virtual time_point wake_at() const = 0;
};

/// Makes a policy from the settings of its plug-in.
using matchmaking_factory = std::function<std::unique_ptr<matchmaking_policy>(const plugin_settings&)>;

}  // namespace troupe
