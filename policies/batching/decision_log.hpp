// Recent decisions of a model queue and the numbers behind them, for `troupe why`. The log is written on the
// hot path, so it copies plain numbers into rings; text is made of them on demand (request_story.hpp).
#pragma once
#include <optional>
#include <vector>

#include "messages/tensor/scheduling.hpp"
#include "policies/batching/batching.hpp"
#include "policies/common/recent_ring.hpp"

namespace troupe {

/// Rule by which a queue dropped a request.
enum class drop_rule : uint16_t {
  no_worker,             ///< no living worker has the model
  queue_bound,           ///< the bound on queued rows was reached
  batching,              ///< the batching policy dropped it, as late or shed
  cancelled,             ///< the client cancelled it
  attempts,              ///< too many workers returned it
  not_started,           ///< the worker refused its batch as late
  preempted,             ///< its batch was preempted by a larger one, and it is too late to run again
  poison_retry_too_late  ///< a poison retry that could not start in time
};

/// The rule and its numbers; those of `batching` are from `dropped_queued_request`.
struct drop_grounds {
  drop_rule rule = drop_rule::no_worker;
  uint32_t rows = 0;  ///< queue_bound: the bound; batching: of the late batch
  time_point start = never, end = never;
};

class decision_log {
 public:
  /// A request and the state of the queue at its arrival.
  struct known_request {
    request_id id;
    time_point arrival, deadline;
    time_point taken_at;      ///< by the queue
    uint32_t rows = 0;        ///< its own
    uint32_t rows_ahead = 0;  ///< queued at its arrival
    uint32_t attempt = 1;
  };
  /// The request table keeps the request itself by this handle; a handle is reused later.
  struct granted_request {
    uint32_t handle;
    uint32_t attempt;
    batch_id batch;
  };
  struct dropped_request {
    known_request what;
    time_point at;
    drop_reason reason;
    drop_grounds grounds;
  };
  /// A candidate that the queue offered to the arbiter.
  struct offer {
    time_point at;
    uint64_t sequence;
    batch_window window;
  };
  enum class batch_status : uint8_t { running, done, refused, preempted, worker_lost, worker_crashed };
  struct granted_batch {
    batch_id id;        ///< ascending, with gaps at takeovers
    uint64_t sequence;  ///< of the offer
    slot_id slot;
    time_point at, free_at;  ///< of the slot
    uint32_t rows = 0, requests = 0;
    bool alone = false;
    time_point exec_at, start_by, end;  ///< as planned
    batch_status how = batch_status::running;
    refusal why = refusal::none;
    time_point started_at = never, finished_at = never;  ///< not done: when the queue was notified
  };

  /// Keeps up to `requests` granted requests, dropped requests, offers and batches, each. 0: none.
  explicit decision_log(uint32_t requests = 0)
      : granted_(requests), dropped_(requests), offers_(requests), batches_(requests) {}

  bool on() const { return granted_.capacity() > 0; }
  uint32_t capacity() const { return static_cast<uint32_t>(granted_.capacity()); }

  void grant(uint32_t handle, uint32_t attempt, batch_id in) { granted_.push({handle, attempt, in}); }
  void drop(const known_request& r, time_point at, drop_reason reason, const drop_grounds& g) {
    dropped_.push({r, at, reason, g});
  }
  void offered(time_point at, uint64_t sequence, const batch_window& w) { offers_.push({at, sequence, w}); }
  void begin(const granted_batch& b) { batches_.push(b); }
  /// Adds the batch of an order that answers the grant; `end` is its planned end.
  void begin(const struct grant& g, const batch_order& o, uint32_t rows, time_point end, time_point now);
  void end(batch_id id, batch_status how, refusal why, time_point started_at, time_point finished_at);
  void end(const batch_done& d, time_point now);
  /// The batch's worker is lost.
  void lose(batch_id id, bool crashed, time_point now);

  /// Grants of a handle in batches granted at or after `since`, oldest first.
  std::vector<granted_request> grants_of(uint32_t handle, time_point since) const;
  std::optional<dropped_request> drop_of(request_id id) const;
  /// Null if the batch is no longer in the log.
  const granted_batch* batch(batch_id id) const;
  /// Offers made in [from, until) and the one that was valid at `from`, oldest first.
  std::vector<offer> offers(time_point from, time_point until) const;
  /// The log is complete from this time on; `long_ago`: no offer has been overwritten.
  time_point offers_since() const;

 private:
  std::optional<size_t> place_of(batch_id id) const;

  recent_ring<granted_request> granted_;
  recent_ring<dropped_request> dropped_;  // in a ring of their own: rare, and asked for most
  recent_ring<offer> offers_;
  recent_ring<granted_batch> batches_;
};

}  // namespace troupe
