// Interface of the matchmaking policies: they decide which model gets which slot (the rank thread of
// Symphony, §4.2, Fig. 18).
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
  bool preempts = false;  ///< the batch that the slot runs is preempted; its requests return to their queue
};

/// Profile of a model, for policies that place models.
struct model_profile {
  latency_model latency;
  duration slo{};         ///< from the arrival to the end of the batch
  uint32_t max_rows = 0;  ///< per batch; 0: do not place the model
  double weight = 1;      ///< its rate relative to the other models, until rates are measured
  bool operator==(const model_profile&) const = default;
};

/// The slots on which a policy has placed a model.
struct model_backends {
  model_id model;
  std::vector<backend> of;  ///< by slot
};

/// Matches the candidates of models with slots. A model has at most one candidate and at most one unanswered
/// match. Until `occupy` answers the match, new candidates of the model are stored but not matched, and its
/// slot is not matched again. O(log models + log slots) an event.
class matchmaking_policy {
 public:
  virtual ~matchmaking_policy() = default;

  virtual void add_slot(slot_id slot, time_point free_at) = 0;
  virtual void remove_slot(slot_id slot) = 0;
  /// Restricts the slot to these models. A newly added slot takes all.
  virtual void set_models(slot_id slot, std::span<const model_id> models) = 0;

  /// Replaces the model's candidate; `rows == 0` withdraws it. `delay`: from the grant to the inputs on the
  /// device.
  virtual void set_candidate(model_id model, const batch_window& window, duration delay) = 0;
  /// A candidate for these slots only, in order of preference; empty: for all slots that have the model. A
  /// policy that does not place models gets no such candidates and need not override this.
  virtual void set_candidate_on(model_id model, const batch_window& window, duration delay,
                                std::span<const slot_id>) {
    set_candidate(model, window, delay);
  }
  /// Removes the model, its candidate and its unanswered match; the slot of that match becomes free.
  virtual void remove_model(model_id model, time_point now) = 0;

  /// Answers a match: the slot is busy until `free_at` (not after now: it is free).
  virtual void occupy(model_id model, slot_id slot, time_point free_at) = 0;
  /// Corrects the time at which a slot becomes free. No effect while a match on it is unanswered.
  virtual void set_free_at(slot_id slot, time_point free_at) = 0;
  /// Sets the rows of the slot's last batch; 0: it has none. Until then they are taken from the candidate of
  /// its last match. For policies that preempt.
  virtual void set_rows(slot_id /*slot*/, uint32_t /*rows*/) {}

  // For policies that place models.
  virtual void set_profile(model_id, const model_profile&) {}
  /// `requests`: number of arrivals for the model since the last call.
  virtual void count_requests(model_id, uint64_t /*requests*/, time_point /*now*/) {}
  /// Moves the placements that have changed to the output, for the queues of their models. Call after `poll`.
  virtual void take_backends(std::vector<model_backends>&) {}

  /// Makes every match due by `now`, in a fixed order: models whose candidates are due, by (time, model id),
  /// then slots that become free, by (time, slot id).
  virtual void poll(time_point now, std::vector<match>& out) = 0;
  /// When to poll next; `never` if nothing is pending.
  virtual time_point wake_at() const = 0;
};

/// Makes a policy from the settings of its plug-in.
using matchmaking_factory = std::function<std::unique_ptr<matchmaking_policy>(const plugin_settings&)>;

}  // namespace troupe
