// What actors can be asked from outside (`troupe ask`, `troupe tell`, `troupe actors`), by kind of actor: a
// protocol is a list of commands, each with what answers it. Written as JSON against these structs
// (json.hpp); never on a hot path, never on the data lane.
//
// Times that say "when" are of the clock of the actor's node. Durations and times are nanoseconds in JSON.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "messages/deployment/deployment.hpp"
#include "messages/llm/commands.hpp"
#include "messages/tensor/decisions.hpp"
#include "messages/tensor/past_batches.hpp"
#include "messages/tensor/request.hpp"
#include "messages/tensor/traces.hpp"

namespace troupe {

/// Most entries of a list in a reply.
inline constexpr uint32_t longest_list = 1000;

/// Where a protocol says it: `command` is answered by `reply`.
template <class Command, class Reply>
struct exchange {
  using command = Command;
  using reply = Reply;
};

/// A command's `about`: one line for people.
template <class T>
constexpr const char* about() {
  if constexpr (requires { T::about; })
    return T::about;
  else
    return "";
}

// Of every actor.

struct get_state {
  static constexpr const char* about = "how the actor is";
  TROUPE_MESSAGE(get_state)
};

/// The answer where there is nothing more to say.
struct acknowledged {
  TROUPE_MESSAGE(acknowledged)
};

// Of a node.

struct peer_state {
  std::string node;
  std::string state;  ///< unknown, meeting, up or leaving
  incarnation_id incarnation;
  duration clock_offset{};  ///< of the peer's clock from this node's, as last estimated
  duration clock_error{};   ///< its bound; negative while the clock is not known
  TROUPE_MESSAGE(peer_state, node, state, incarnation, clock_offset, clock_error)
};
struct node_state {
  std::string node;
  incarnation_id incarnation;
  bool ready = false;  ///< all nodes are up and all models served
  bool draining = false;
  time_point now{};  ///< of the node's clock
  std::vector<peer_state> peers;
  std::string scheduler;   ///< the leader, or the last one
  term_id term;            ///< its term; 0 in a cluster without standbys
  uint32_t takeovers = 0;  ///< that this process has heard of
  TROUPE_MESSAGE(node_state, node, incarnation, ready, draining, now, peers, scheduler, term, takeovers)
};

using node_commands = type_list<exchange<get_state, node_state>>;

// Of a gateway.

struct gateway_state {
  uint64_t in_flight = 0;
  uint64_t accepted = 0;
  uint64_t finished = 0;
  uint64_t dropped = 0;
  uint64_t failed = 0;
  uint64_t late_answers = 0;  ///< came for requests that had their outcome already
  bool balanced = false;      ///< accepted = finished + dropped + failed + in flight
  bool draining = false;
  bool scheduler_up = false;
  TROUPE_MESSAGE(gateway_state, in_flight, accepted, finished, dropped, failed, late_answers, balanced,
                 draining, scheduler_up)
};

struct get_ledger {
  static constexpr const char* about = "what became of all requests, by model";
  TROUPE_MESSAGE(get_ledger)
};
struct reason_count {
  std::string reason;
  uint64_t count = 0;
  TROUPE_MESSAGE(reason_count, reason, count)
};
struct ledger_line {
  std::string model;
  uint64_t accepted = 0;
  uint64_t finished = 0;
  uint64_t in_time = 0;               ///< of the finished: by their deadlines
  std::vector<reason_count> dropped;  ///< without zeros, as below
  std::vector<reason_count> failed;
  TROUPE_MESSAGE(ledger_line, model, accepted, finished, in_time, dropped, failed)
};
struct ledger_report {
  std::vector<ledger_line> models;
  TROUPE_MESSAGE(ledger_report, models)
};

struct get_latencies {
  static constexpr const char* about = "how often finished requests took how long, by model, since the start";
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

struct list_requests {
  static constexpr const char* about = "the requests that the actor holds, those with the lowest ids first";
  uint32_t limit = 100;
  TROUPE_MESSAGE(list_requests, limit)
};
struct open_request {
  request_id id;
  model_id model;
  uint32_t rows = 0;
  uint32_t attempt = 0;
  duration age{};
  duration deadline_in{};  ///< negative: it is over
  std::string state;       ///< waiting, running, pulling
  TROUPE_MESSAGE(open_request, id, model, rows, attempt, age, deadline_in, state)
};
struct open_requests {
  uint64_t total = 0;
  std::vector<open_request> requests;
  TROUPE_MESSAGE(open_requests, total, requests)
};

struct cancel_request {
  static constexpr const char* about = "give a request up, as if its client had gone away";
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
  std::string state;  ///< serving, paused, or no_slots
  uint64_t queued_requests = 0;
  uint64_t queued_rows = 0;
  uint64_t running_batches = 0;
  uint64_t slots = 0;           ///< that have the model and are in service
  duration head_deadline_in{};  ///< of the request whose deadline is first; 0 if none is queued
  uint32_t candidate_rows = 0;  ///< the batch it wants to run next; 0: none
  duration candidate_exec_in{};
  duration candidate_latest_in{};
  std::string batching;
  std::string shedding;
  duration slo{};
  duration response{};
  duration margin{};
  double need = 0;  ///< slots that its present rate keeps busy; 0: unknown
  uint32_t max_rows = 0;
  duration alpha{};
  duration beta{};
  std::string domain;     ///< empty where there is one for all
  uint64_t received = 0;  ///< requests, since the queue began
  TROUPE_MESSAGE(queue_state, model, state, queued_requests, queued_rows, running_batches, slots,
                 head_deadline_in, candidate_rows, candidate_exec_in, candidate_latest_in, batching, shedding,
                 slo, response, margin, need, max_rows, alpha, beta, domain, received)
};

struct pause_batching {
  static constexpr const char* about =
      "form no more batches; requests wait, and are dropped once they are too late";
  TROUPE_MESSAGE(pause_batching)
};
struct resume_batching {
  static constexpr const char* about = "form batches again";
  TROUPE_MESSAGE(resume_batching)
};
struct set_slo {
  static constexpr const char* about =
      "plan requests that come from now on for this SLO where it is tighter than their own; 0: their own";
  duration slo{};
  TROUPE_MESSAGE(set_slo, slo)
};
struct set_batching {
  static constexpr const char* about = "go on with this batching policy; what is queued stays queued";
  std::string batching;
  std::string shedding;
  TROUPE_MESSAGE(set_batching, batching, shedding)
};

using model_queue_commands =
    type_list<exchange<get_state, queue_state>, exchange<list_requests, open_requests>,
              exchange<pause_batching, acknowledged>, exchange<resume_batching, acknowledged>,
              exchange<set_slo, acknowledged>, exchange<set_batching, acknowledged>,
              exchange<explain_request, request_story>, exchange<set_decision_log, acknowledged>>;

// Of the arbiter.

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
  bool granted = false;  ///< it has a slot and has not said yet what it does with it
  TROUPE_MESSAGE(candidate_state, model, rows, exec_in, latest_in, granted)
};
/// How many GPUs the load of late would need.
struct autoscale_state {
  bool on = false;
  uint32_t gpus = 0;    ///< in service
  int32_t advice = 0;   ///< so many more, or fewer if negative
  double bad_rate = 0;  ///< of requests, of late
  double idle = 0;      ///< fraction of the GPUs, when the load was largest
  TROUPE_MESSAGE(autoscale_state, on, gpus, advice, bad_rate, idle)
};
struct arbiter_state {
  std::string domain;  ///< empty where there is one for all
  uint64_t grants = 0;
  uint64_t refused = 0;
  std::vector<slot_state> slots;
  std::vector<candidate_state> candidates;
  autoscale_state autoscale{};
  TROUPE_MESSAGE(arbiter_state, domain, grants, refused, slots, candidates, autoscale)
};
struct take_slot_out {
  static constexpr const char* about = "grant this slot no more; what it has ends as usual";
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
  uint64_t input_bytes = 0;  ///< a row
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
  uint64_t outputs_offered = 0;  ///< not pulled and released yet
  TROUPE_MESSAGE(worker_state, slot, state, models, batches, batches_run, rows_run, busy, outputs_offered)
};

using gpu_worker_commands =
    type_list<exchange<get_state, worker_state>, exchange<list_batches, past_batches>,
              exchange<start_trace, acknowledged>, exchange<take_trace, traced_batches>,
              exchange<stop_trace, acknowledged>>;

// Of a deployer: messages/deployment/deployment.hpp has them.

using deployer_commands = type_list<exchange<deploy, change_reply>, exchange<redeploy, change_reply>,
                                    exchange<undeploy, change_reply>, exchange<move_model, change_reply>,
                                    exchange<drain_node, change_reply>>;

// Of a placer.

struct placer_state {
  uint64_t epochs = 0;          ///< in which it looked for a better partition
  uint64_t moves = 0;           ///< of models, that it began
  uint32_t planned = 0;         ///< moves that wait for the one before them
  std::string moving;           ///< the model that moves now; empty: none
  double rate_imbalance = 0;    ///< (max - min) / average over the domains, when it looked last
  double memory_imbalance = 0;  ///< likewise
  std::string problem;          ///< why it found no partition then
  TROUPE_MESSAGE(placer_state, epochs, moves, planned, moving, rate_imbalance, memory_imbalance, problem)
};
using placer_commands = type_list<exchange<get_state, placer_state>>;

// Of what serves language models.

using llm_gateway_commands =
    type_list<exchange<get_state, gateway_state>, exchange<get_ledger, ledger_report>>;
using llm_router_commands =
    type_list<exchange<get_state, llm_router_state>, exchange<list_generations, generation_list>,
              exchange<migrate, acknowledged>, exchange<drain_engine, acknowledged>>;
using llm_engine_commands =
    type_list<exchange<get_state, llm_engine_state>, exchange<list_adapters, adapter_list>>;

// Of a console.

struct console_state {
  uint32_t open = 0;   ///< commands without an answer yet
  uint32_t limit = 0;  ///< of these
  uint64_t answered = 0;
  uint64_t refused = 0;
  TROUPE_MESSAGE(console_state, open, limit, answered, refused)
};
using console_commands = type_list<exchange<get_state, console_state>>;

// Of the metrics.

struct get_metrics {
  static constexpr const char* about = "every metric of the node, by name";
  TROUPE_MESSAGE(get_metrics)
};
struct metric_value {
  std::string name;
  std::string labels;  ///< key=value, by commas
  double value = 0;
  TROUPE_MESSAGE(metric_value, name, labels, value)
};
struct metric_list {
  std::vector<metric_value> metrics;
  TROUPE_MESSAGE(metric_list, metrics)
};
using metrics_commands = type_list<exchange<get_metrics, metric_list>>;

}  // namespace troupe
