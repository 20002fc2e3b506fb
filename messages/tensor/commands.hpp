// Commands to gateways, model queues, arbiters and workers (rules: messages/common/commands.hpp).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "messages/common/commands.hpp"
#include "messages/common/ids.hpp"
#include "messages/common/ledger.hpp"
#include "messages/common/time.hpp"
#include "messages/tensor/decisions.hpp"
#include "messages/tensor/past_batches.hpp"
#include "messages/tensor/traces.hpp"

namespace troupe {

// Of gateways and model queues.

struct list_requests {
  static constexpr const char* about = "requests that the actor holds, lowest ids first";
  uint32_t limit = 100;
  TROUPE_MESSAGE(list_requests, limit)
};
struct open_request {
  request_id id;
  model_id model;
  uint32_t rows = 0;
  uint32_t attempt = 0;
  duration age{};
  duration deadline_in{};  ///< negative: it has passed
  std::string state;       ///< waiting, running, pulling
  TROUPE_MESSAGE(open_request, id, model, rows, attempt, age, deadline_in, state)
};
struct open_requests {
  uint64_t total = 0;
  std::vector<open_request> requests;
  TROUPE_MESSAGE(open_requests, total, requests)
};

// Of a gateway.

struct get_latencies {
  static constexpr const char* about = "latency histogram of finished requests, by model, since the start";
  TROUPE_MESSAGE(get_latencies)
};
struct latency_count {
  duration latency{};  ///< within 1 %
  uint64_t count = 0;
  TROUPE_MESSAGE(latency_count, latency, count)
};
struct model_latencies {
  std::string model;
  std::vector<latency_count> counts;  ///< ascending, without zeros
  TROUPE_MESSAGE(model_latencies, model, counts)
};
struct latency_report {
  std::vector<model_latencies> models;
  TROUPE_MESSAGE(latency_report, models)
};

struct cancel_request {
  static constexpr const char* about = "cancel a request, as if its client had disconnected";
  request_id id;
  TROUPE_MESSAGE(cancel_request, id)
};

using gateway_commands =
    type_list<exchange<get_state, gateway_state>, exchange<get_ledger, ledger_report>,
              exchange<get_latencies, latency_report>, exchange<list_requests, open_requests>,
              exchange<cancel_request, acknowledged>, exchange<start_trace, acknowledged>,
              exchange<take_trace, traced_requests>, exchange<stop_trace, acknowledged>,
              exchange<explain_request, gateway_decision>, exchange<set_decision_log, acknowledged>>;

// Of a model queue.

struct queue_state {
  std::string model;
  std::string state;  ///< serving, paused, no slots, or standing by
  uint64_t queued_requests = 0;
  uint64_t queued_rows = 0;
  uint64_t running_batches = 0;
  uint64_t slots = 0;           ///< that have the model and are in service
  duration head_deadline_in{};  ///< of the request whose deadline is first; 0 if none is queued
  uint32_t candidate_rows = 0;  ///< of the batch that it would run next; 0: none
  duration candidate_exec_in{};
  duration candidate_latest_in{};
  std::string batching;
  std::string shedding;
  duration slo{};
  duration response{};
  duration margin{};
  double need = 0;  ///< slots that its current rate keeps busy; 0: unknown
  uint32_t max_rows = 0;
  duration alpha{};
  duration beta{};
  std::string domain;     ///< empty in a cluster without domains
  uint64_t received = 0;  ///< requests, since the start of the queue
  TROUPE_MESSAGE(queue_state, model, state, queued_requests, queued_rows, running_batches, slots,
                 head_deadline_in, candidate_rows, candidate_exec_in, candidate_latest_in, batching, shedding,
                 slo, response, margin, need, max_rows, alpha, beta, domain, received)
};

struct pause_batching {
  static constexpr const char* about =
      "stop forming batches; requests wait, and are dropped once they are late";
  TROUPE_MESSAGE(pause_batching)
};
struct resume_batching {
  static constexpr const char* about = "resume forming batches";
  TROUPE_MESSAGE(resume_batching)
};
struct set_slo {
  static constexpr const char* about =
      "plan new requests for this SLO if it is tighter than their own; 0: their own";
  duration slo{};
  TROUPE_MESSAGE(set_slo, slo)
};
struct set_batching {
  static constexpr const char* about = "switch to this batching policy; queued requests stay queued";
  std::string batching;
  std::string shedding;
  TROUPE_MESSAGE(set_batching, batching, shedding)
};

using model_queue_commands =
    type_list<exchange<get_state, queue_state>, exchange<list_requests, open_requests>,
              exchange<pause_batching, acknowledged>, exchange<resume_batching, acknowledged>,
              exchange<set_slo, acknowledged>, exchange<set_batching, acknowledged>,
              exchange<explain_request, request_story>, exchange<set_decision_log, acknowledged>>;

// Of an arbiter.

struct slot_state {
  slot_id slot;
  node_id node;
  std::string state;  ///< idle, busy or out_of_service
  uint32_t orders = 0;
  duration free_in{};  ///< planned; 0 when idle
  duration busy{};     ///< in total
  TROUPE_MESSAGE(slot_state, slot, node, state, orders, free_in, busy)
};
struct candidate_state {
  model_id model;
  uint32_t rows = 0;
  duration exec_in{};
  duration latest_in{};
  bool granted = false;  ///< it has a slot, and its queue has not answered the grant yet
  TROUPE_MESSAGE(candidate_state, model, rows, exec_in, latest_in, granted)
};
/// Advice on the number of GPUs, by the recent load.
struct autoscale_state {
  bool on = false;
  uint32_t gpus = 0;    ///< in service
  int32_t advice = 0;   ///< GPUs to add, or to remove if negative
  double bad_rate = 0;  ///< of recent requests
  double idle = 0;      ///< fraction of the GPUs, at the peak of the load
  TROUPE_MESSAGE(autoscale_state, on, gpus, advice, bad_rate, idle)
};
struct arbiter_state {
  std::string domain;  ///< empty in a cluster without domains
  uint64_t grants = 0;
  uint64_t refused = 0;
  std::vector<slot_state> slots;
  std::vector<candidate_state> candidates;
  autoscale_state autoscale{};
  TROUPE_MESSAGE(arbiter_state, domain, grants, refused, slots, candidates, autoscale)
};
struct take_slot_out {
  static constexpr const char* about = "stop granting this slot; its batch finishes as usual";
  slot_id slot;
  TROUPE_MESSAGE(take_slot_out, slot)
};
struct put_slot_back {
  static constexpr const char* about = "grant this slot again";
  slot_id slot;
  TROUPE_MESSAGE(put_slot_back, slot)
};

using rank_arbiter_commands =
    type_list<exchange<get_state, arbiter_state>, exchange<take_slot_out, acknowledged>,
              exchange<put_slot_back, acknowledged>, exchange<explain_grant, grant_story>,
              exchange<set_decision_log, acknowledged>>;

// Of a worker.

struct served_model {
  model_id model;
  uint64_t input_bytes = 0;  ///< of a row
  uint64_t output_bytes = 0;
  TROUPE_MESSAGE(served_model, model, input_bytes, output_bytes)
};
struct held_batch {
  batch_id batch;
  model_id model;
  uint32_t requests = 0;
  uint32_t inputs_missing = 0;
  bool running = false;
  duration starts_in{};  ///< as planned
  TROUPE_MESSAGE(held_batch, batch, model, requests, inputs_missing, running, starts_in)
};
struct worker_state {
  slot_id slot;
  std::string state;  ///< loading, idle, waiting or running
  std::vector<served_model> models;
  std::vector<held_batch> batches;  ///< in the order in which they will run
  uint64_t batches_run = 0;
  uint64_t rows_run = 0;
  duration busy{};
  uint64_t outputs_offered = 0;  ///< not released yet
  TROUPE_MESSAGE(worker_state, slot, state, models, batches, batches_run, rows_run, busy, outputs_offered)
};

using gpu_worker_commands =
    type_list<exchange<get_state, worker_state>, exchange<list_batches, past_batches>,
              exchange<start_trace, acknowledged>, exchange<take_trace, traced_batches>,
              exchange<stop_trace, acknowledged>>;

}  // namespace troupe
