// Between which candidates an arbiter's latest grants chose. Written on the hot path: it only copies numbers
// into a ring; which rivals a grant had is found out when somebody asks (`troupe why`).
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
    std::optional<offer> chosen;  ///< none: it is forgotten
    /// Those that stood and could still start, the earliest `latest` first (equal: the lower model id).
    std::vector<offer> rivals;
    bool preempts = false;  ///< what the slot ran was to be stopped for it
  };
  /// Who took a slot from whom it had been granted to.
  struct taker {
    time_point at;
    model_id model;
    uint32_t rows;  ///< of its candidate; 0: forgotten
  };

  /// Keeps so many candidates and grants together. 0: none.
  explicit grant_log(size_t entries = 0) : entries_(entries) {}
  /// Enough for so many requests: many models share it, and each request may change a candidate.
  static grant_log of_requests(uint32_t requests) { return grant_log(size_t{16} * requests); }

  bool on() const { return entries_.capacity() > 0; }
  /// Replaces the model's former candidate; `rows == 0`: it has none.
  void offered(time_point now, model_id model, uint64_t sequence, const batch_window& w) {
    entries_.push({now, model, candidate_entry, sequence, w, never, false});
  }
  /// The model's candidate was granted a slot, and stands no more.
  void granted(time_point now, model_id model, uint64_t sequence, slot_id slot, time_point free_at,
               bool preempts = false) {
    entries_.push({now, model, slot, sequence, {}, free_at, preempts});
  }

  /// The grant that answered the candidate, if it is not forgotten.
  std::optional<decision> find(model_id model, uint64_t sequence) const;
  /// The grant of its slot after that one, if it was to stop what ran there.
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
