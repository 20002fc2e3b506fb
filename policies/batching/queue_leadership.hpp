// A model queue's side of leadership: its term, its batch ids, and what takeovers bring.
//
// With standbys there is a queue of the model on every candidate node, and only the leader's serves. The
// queue of a new leader gets the requests that have no outcome from the gateways, and from the workers the
// batches of its predecessor that still run.
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "messages/tensor/scheduling.hpp"

namespace troupe {

class queue_leadership {
 public:
  /// `elected`: it serves only in terms of its node; else always, in `term`. Batch ids begin at
  /// `first_batch`. Holds at most `max_held` requests until it knows its first term.
  queue_leadership(bool elected, term_id term, uint64_t first_batch, size_t max_held)
      : elected_(elected),
        term_(term),
        first_batch_(first_batch),
        next_batch_(first_batch),
        max_held_(max_held) {}

  bool leads() const { return !elected_ || term_ != term_id{}; }
  /// Of its orders; 0: it does not lead.
  term_id term() const { return term_; }

  /// The id of the next batch. Ids only count up, over terms and incarnations.
  batch_id next_batch() const { return batch_id{next_batch_}; }
  batch_id new_batch() { return batch_id{next_batch_++}; }

  /// A term later than all before begins, with this node as the leader or (`!own`) another.
  void begin_term(term_id term, bool own);
  /// The node begins a new incarnation, which is the term where none is elected.
  void begin_incarnation(incarnation_id incarnation);
  /// Forgets the takeover of the present term.
  void forget_takeover();

  enum class arrival {
    taken,    ///< it is to be queued
    known,    ///< it runs already, as a batch of the predecessor
    other,    ///< not the leader's: a gateway submits it again to the leader
    held,     ///< until the first term is known
    too_many  ///< to hold
  };
  /// A request was submitted.
  arrival arrive(const request& r);
  std::vector<request> take_held() { return std::exchange(held_, {}); }
  /// Removes the held requests for which `leaves(request)` holds.
  template <class F>
  void remove_held_if(F&& leaves) {
    std::erase_if(held_, leaves);
  }

  /// A batch that nobody here knows has ended: maybe one that is to be handed over. A handover comes by way
  /// of the arbiter, the end of its batch does not.
  void keep_early(const batch_done& d);
  /// The handover is about the present term.
  bool adopts(const handover& h) const { return leads() && h.term == term_; }
  /// Its batch is one of this queue from now on. Returns the end of that batch if it came first.
  std::optional<batch_done> adopt(const handover& h);

 private:
  const bool elected_;
  term_id term_;
  bool term_known_ = false;
  const uint64_t first_batch_;
  uint64_t next_batch_;
  size_t max_held_;
  std::vector<request> held_;
  std::set<request_id> adopted_;
  std::map<batch_id, batch_done> early_;
};

}  // namespace troupe
