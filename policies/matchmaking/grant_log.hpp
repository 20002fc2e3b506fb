// Recent grants of an arbiter and the candidates that competed for them, for `troupe why`. The log is written
// on the hot path, so it copies plain numbers into a ring; the rivals of a grant are determined on demand.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "policies/common/recent_ring.hpp"
#include "policies/matchmaking/matchmaking.hpp"

namespace troupe {

class grant_log {
 public:
  struct offer {
    model_id model;
    time_point since;
    batch_window window;
  };
  struct decision {
    time_point at;
    slot_id slot;
    time_point free_at;           ///< of the slot
    std::optional<offer> chosen;  ///< empty: no longer in the log
    /// The other candidates that could still start, by `latest`, then by model id.
    std::vector<offer> rivals;
    bool preempts = false;  ///< it preempted the batch on the slot
  };
  /// The model whose grant preempted a batch.
  struct taker {
    time_point at;
    model_id model;
    uint32_t rows;  ///< of its candidate; 0: no longer in the log
  };

  /// Keeps up to `entries` candidates and grants, in total. 0: none.
  explicit grant_log(size_t entries = 0) : entries_(entries) {}
  /// A log that covers about `requests` requests: all models share it, and a request may change its model's
  /// candidate several times.
  static grant_log of_requests(uint32_t requests) { return grant_log(size_t{16} * requests); }

  bool on() const { return entries_.capacity() > 0; }
  /// Logs the model's new candidate; `rows == 0`: it is withdrawn.
  void offered(time_point now, model_id model, uint64_t sequence, const batch_window& w) {
    entries_.push({now, model, candidate_entry, sequence, w, never, false});
  }
  /// Logs a grant, which consumes the model's candidate.
  void granted(time_point now, model_id model, uint64_t sequence, slot_id slot, time_point free_at,
               bool preempts = false) {
    entries_.push({now, model, slot, sequence, {}, free_at, preempts});
  }

  /// The grant that answered the candidate; empty if it is no longer in the log.
  std::optional<decision> find(model_id model, uint64_t sequence) const;
  /// The next grant of the same slot, if it was a preemption.
  std::optional<taker> preempted_by(model_id model, uint64_t sequence) const;

 private:
  static constexpr slot_id candidate_entry{~0u};
  struct entry {
    time_point at;
    model_id model;
    slot_id slot;  ///< of a grant
    uint64_t sequence;
    batch_window window;  ///< of a candidate
    time_point free_at;
    bool preempts;
  };
  size_t end_of(model_id model, uint64_t sequence) const;

  recent_ring<entry> entries_;
};

}  // namespace troupe
