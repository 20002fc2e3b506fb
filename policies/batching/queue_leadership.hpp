// Leadership of a model queue: its term, its batch ids, and the state that it adopts at a takeover.
//
// With standbys, every candidate node has a queue of the model, and only the leader's serves. The queue of a
// new leader gets the requests without an outcome from the gateways, and the batches of its predecessor that
// still run from the workers.
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "messages/tensor/scheduling.hpp"

namespace troupe {

class queue_leadership {
 public:
  /// `elected`: the queue serves only in terms of its own node; otherwise always, in `term`. Batch ids begin
  /// at `first_batch`. At most `max_held` requests are held until the first term is known.
  queue_leadership(bool elected, term_id term, uint64_t first_batch, size_t max_held)
      : elected_(elected),
        term_(term),
        first_batch_(first_batch),
        next_batch_(first_batch),
        max_held_(max_held) {}

  bool leads() const { return !elected_ || term_ != term_id{}; }
  /// Term of its orders; 0: the queue does not lead.
  term_id term() const { return term_; }

  /// Id of the next batch. Ids ascend over terms and incarnations.
  batch_id next_batch() const { return batch_id{next_batch_}; }
  batch_id new_batch() { return batch_id{next_batch_++}; }

  /// A new term begins, later than all before. `own`: its leader is this node.
  void begin_term(term_id term, bool own);
  /// The node begins a new incarnation; without an election, the incarnation is the term.
  void begin_incarnation(incarnation_id incarnation);
  /// Forgets the requests and batches adopted in this term.
  void forget_takeover();

  enum class arrival {
    taken,    ///< queue it
    known,    ///< it runs, or ran, in a batch of the previous leader; later attempts are taken
    other,    ///< ignore it: this queue does not lead, and the gateway resubmits it to the leader
    held,     ///< until the first term is known
    too_many  ///< drop it as queue_full: `max_held` requests are held
  };
  /// Decides what to do with a submitted request.
  arrival arrive(const request& r);
  std::vector<request> take_held() { return std::exchange(held_, {}); }
  /// Removes the held requests for which `leaves(request)` holds.
  template <class F>
  void remove_held_if(F&& leaves) {
    std::erase_if(held_, leaves);
  }

  /// Keeps the end of an unknown batch. The handover of a batch comes through the arbiter, its end directly
  /// from the worker, so the end may come first.
  void keep_early(const batch_done& d);
  /// Whether the handover belongs to the present term of this leader.
  bool adopts(const handover& h) const { return leads() && h.term == term_; }
  /// Adopts the batch of a handover. Returns the end of that batch if it came first.
  std::optional<batch_done> adopt(const handover& h);

 private:
  const bool elected_;
  term_id term_;
  bool term_known_ = false;
  const uint64_t first_batch_;
  uint64_t next_batch_;
  size_t max_held_;
  std::vector<request> held_;
  std::map<request_id, request> adopted_;  ///< as they were handed over
  std::map<batch_id, batch_done> early_;
};

}  // namespace troupe
