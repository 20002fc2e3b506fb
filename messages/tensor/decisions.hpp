// Commands by which model queues, arbiters and gateways explain their decisions, for `troupe why`
// (tools/commands/why.hpp turns the replies into text). Part of messages/tensor/commands.hpp.
//
// Times are of the clock of the actor's node, `never` for events that have not happened.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "messages/common/ids.hpp"
#include "messages/common/message.hpp"
#include "messages/common/time.hpp"

namespace troupe {

/// Bound of the requests in an actor's decision log.
inline constexpr uint32_t largest_decision_log = 1 << 20;

struct set_decision_log {
  static constexpr const char* about =
      "record the decisions about this many requests from now on, and delete earlier records; 0: none";
  uint32_t requests = 4096;
  TROUPE_MESSAGE(set_decision_log, requests)
};

// To a model queue or a gateway.

struct explain_request {
  static constexpr const char* about = "decisions about a request, with their numbers";
  request_id id;
  TROUPE_MESSAGE(explain_request, id)
};

// To a model queue.

/// The batch that the queue offered to the arbiter as its next one; `rows == 0`: none.
struct candidate_decision {
  time_point at = never;
  uint64_t sequence = 0;
  uint32_t rows = 0;
  time_point exec_at = never;  ///< planned start
  time_point latest = never;   ///< latest start
  TROUPE_MESSAGE(candidate_decision, at, sequence, rows, exec_at, latest)
};

/// A batch with the request, formed when a slot was granted.
struct batch_decision {
  uint32_t attempt = 0;
  bool known = false;  ///< false: no longer remembered; the following fields are empty
  batch_id batch;
  uint64_t sequence = 0;  ///< of the candidate that the grant answered
  slot_id slot;
  time_point granted_at = never;
  time_point free_at = never;  ///< of the slot
  uint32_t rows = 0;
  uint32_t requests = 0;
  bool alone = false;  ///< a poison retry: nothing else ran on the worker meanwhile
  time_point exec_at = never;
  time_point start_by = never;
  time_point planned_end = never;
  std::string end;  ///< running, done, refused, preempted, worker_lost or worker_crashed
  std::string why;  ///< why it was refused
  time_point started_at = never;
  time_point finished_at = never;  ///< if not done: when the queue learnt of it
  TROUPE_MESSAGE(batch_decision, attempt, known, batch, sequence, slot, granted_at, free_at, rows, requests,
                 alone, exec_at, start_by, planned_end, end, why, started_at, finished_at)
};

struct drop_decision {
  time_point at = never;
  std::string reason;
  std::string rule;           ///< no_worker, queue_bound, batching, cancelled, attempts, not_started,
                              ///< preempted or poison_retry_too_late
  uint32_t rows = 0;          ///< queue_bound: the bound; batching: rows of the batch that was too late
  time_point start = never;   ///< of that batch: earliest start
  time_point finish = never;  ///< of that batch: earliest end, with the response; preempted: these, too
  TROUPE_MESSAGE(drop_decision, at, reason, rule, rows, start, finish)
};

struct request_story {
  bool known = false;         ///< false: it never arrived here, or is no longer remembered
  uint32_t decision_log = 0;  ///< size of the decision log in requests; 0: none
  std::string state;          ///< waiting, running, finished, dropped or lost
  request_id id;
  model_id model;
  std::string model_name;
  std::string batching;  ///< current value, as the following ones
  std::string shedding;
  duration alpha{};
  duration beta{};
  duration response{};
  address arbiter;
  uint32_t rows = 0;
  time_point arrival = never;
  time_point deadline = never;
  time_point taken_at = never;  ///< when the queue accepted it
  uint32_t rows_ahead = 0;      ///< queued when it arrived
  std::vector<candidate_decision> candidates;
  bool candidates_forgotten = false;  ///< those before the first of `candidates`
  std::vector<batch_decision> batches;
  std::vector<drop_decision> drops;  ///< at most one
  TROUPE_MESSAGE(request_story, known, decision_log, state, id, model, model_name, batching, shedding, alpha,
                 beta, response, arbiter, rows, arrival, deadline, taken_at, rows_ahead, candidates,
                 candidates_forgotten, batches, drops)
};

// To an arbiter.

struct explain_grant {
  static constexpr const char* about =
      "choices of a grant: the candidate with this sequence of this model, and its rivals";
  model_id model;
  uint64_t sequence = 0;
  TROUPE_MESSAGE(explain_grant, model, sequence)
};

/// A candidate that was registered when a slot was granted to another.
struct rival {
  model_id model;
  time_point since = never;
  uint32_t rows = 0;
  time_point exec_at = never;
  time_point latest = never;
  TROUPE_MESSAGE(rival, model, since, rows, exec_at, latest)
};

struct grant_story {
  bool known = false;
  time_point at = never;
  slot_id slot;
  time_point free_at = never;  ///< of the slot
  time_point since = never;    ///< when its candidate was registered
  uint32_t rows = 0;
  time_point exec_at = never;
  time_point latest = never;
  std::vector<rival> rivals;  ///< most urgent first
  bool preempts = false;      ///< the grant preempts the slot's running batch
  /// When this batch was preempted: the time and the winner of the later grant.
  time_point taken_at = never;
  model_id taken_by{};
  uint32_t taken_rows = 0;  ///< of the other candidate; 0: no longer remembered
  TROUPE_MESSAGE(grant_story, known, at, slot, free_at, since, rows, exec_at, latest, rivals, preempts,
                 taken_at, taken_by, taken_rows)
};

// To a gateway.

/// A request that the gateway ended by itself: it rejected it, or gave it up.
struct gateway_decision {
  bool known = false;         ///< false: it never arrived here, others decided, or it is no longer remembered
  uint32_t decision_log = 0;  ///< number of such requests that are remembered; 0: none
  request_id id;
  model_id model;
  std::string model_name;
  uint32_t rows = 0;
  time_point arrival = never;
  time_point deadline = never;
  time_point at = never;
  bool at_admission = false;  ///< rejected at once: no queue ever got it
  std::string outcome;        ///< dropped or failed
  std::string reason;
  std::string detail;          ///< quota: the limit, rate or concurrency; device_error: the device's message
  std::string tenant;          ///< empty: none
  uint64_t in_flight = 0;      ///< of the gateway's requests, at that time
  uint64_t max_in_flight = 0;  ///< bound of these
  duration retry_after{};      ///< Retry-After sent to the client; 0: none
  TROUPE_MESSAGE(gateway_decision, known, decision_log, id, model, model_name, rows, arrival, deadline, at,
                 at_admission, outcome, reason, detail, tenant, in_flight, max_in_flight, retry_after)
};

/// All remembered decisions of a cluster about one request.
struct decision_story {
  request_story request;            ///< not `known`: no queue remembers it
  std::vector<grant_story> grants;  ///< for its batches, in their order
  gateway_decision gateway{};       ///< not `known`: it did not end the request
};

}  // namespace troupe
