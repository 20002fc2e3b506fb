// What the queue of a model decided about its latest requests, and by which numbers. Written on the hot path,
// so it only copies a few numbers into rings; words are made of them when somebody asks (`troupe why`).
#pragma once
#include <optional>
#include <vector>

#include "messages/tensor/scheduling.hpp"
#include "policies/batching/batching.hpp"
#include "policies/common/recent_ring.hpp"

namespace troupe {

/// By which rule a queue gave a request up.
enum class drop_rule : uint16_t {
  no_worker,             ///< no living worker has the model
  queue_bound,           ///< more rows would wait than may
  batching,              ///< its batching policy could not have it in time, or had better use for the time
  cancelled,             ///< its client went away
  attempts,              ///< too many workers refused it
  not_started,           ///< its worker could not start the batch in time
  preempted,             ///< its batch was stopped for a larger one, and it is too late to run it again
  poison_retry_too_late  ///< it had to run alone, and could not in time
};

/// The numbers of a rule; of a batching policy those of its `dropped_queued_request`.
struct drop_grounds {
  drop_rule rule = drop_rule::no_worker;
  uint32_t rows = 0;  ///< queue_bound: that may wait; batching: of the batch that was too late
  time_point start = never, end = never;
};

class decision_log {
 public:
  /// A request, and what it found.
  struct known_request {
    request_id id;
    time_point arrival, deadline;
    time_point taken_at;      ///< by the queue
    uint32_t rows = 0;        ///< its own
    uint32_t rows_ahead = 0;  ///< queued when it came
    uint32_t attempt = 1;
  };
  /// The queue remembers the request itself, by this handle; later the handle is another one's.
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
  /// What the queue told the arbiter that it wants to run next.
  struct offer {
    time_point at;
    uint64_t sequence;
    batch_window window;
  };
  enum class batch_status : uint8_t { running, done, refused, preempted, worker_lost, worker_crashed };
  struct granted_batch {
    batch_id id;        ///< they count up; there are gaps where a scheduler took over
    uint64_t sequence;  ///< of the offer
    slot_id slot;
    time_point at, free_at;  ///< of the slot
    uint32_t rows = 0, requests = 0;
    bool alone = false;
    time_point exec_at, start_by, end;  ///< as planned
    batch_status how = batch_status::running;
    refusal why = refusal::none;
    time_point started_at = never, finished_at = never;  ///< not done: when the queue heard of it
  };

  /// Keeps so many granted requests, as many dropped ones, and so many batches and offers. 0: nothing.
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
  /// The order, of so many rows, answers the grant and is planned to end then.
  void begin(const struct grant& g, const batch_order& o, uint32_t rows, time_point end, time_point now);
  void end(batch_id id, batch_status how, refusal why, time_point started_at, time_point finished_at);
  void end(const batch_done& d, time_point now);
  /// The batch's worker is lost.
  void lose(batch_id id, bool crashed, time_point now);

  /// In batches that were granted since then, by attempt.
  std::vector<granted_request> grants_of(uint32_t handle, time_point since) const;
  std::optional<dropped_request> drop_of(request_id id) const;
  /// Null if it is forgotten.
  const granted_batch* batch(batch_id id) const;
  /// Those made in [from, until) and the one that stood before, oldest first.
  std::vector<offer> offers(time_point from, time_point until) const;
  /// Offers made before that are forgotten; `long_ago`: none is.
  time_point offers_since() const;

 private:
  std::optional<size_t> place_of(batch_id id) const;

  recent_ring<granted_request> granted_;
  recent_ring<dropped_request> dropped_;  // apart: one asks for these, and they are few
  recent_ring<offer> offers_;
  recent_ring<granted_batch> batches_;
};

}  // namespace troupe
