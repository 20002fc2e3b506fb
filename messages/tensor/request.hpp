// Tensor requests from a gateway through a model queue to a worker, and their outcomes on the way back.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "messages/common/ids.hpp"
#include "messages/common/memory.hpp"
#include "messages/common/time.hpp"

namespace troupe {

/// Why a request was dropped, that is, given up by rule before it ran.
enum class drop_reason : uint16_t {
  none,
  late,         ///< even a batch of this request alone would miss its deadline
  shed,         ///< given up so that a batch of the target size stays feasible
  queue_full,   ///< its model's queue is at its bound
  cancelled,    ///< the client went away
  no_capacity,  ///< no worker that is up has its model
  draining,     ///< the node that holds it is leaving
  undeployed,   ///< its model is no longer served
  quota         ///< its tenant exceeds its rate, or has too many requests in flight
};
inline constexpr size_t drop_reason_count = 9;
std::string_view to_string(drop_reason r);

/// Why a request failed: something broke.
enum class failure : uint16_t {
  none,
  timeout,          ///< no result in time
  worker_lost,      ///< the worker that had it died
  scheduler_lost,   ///< the scheduler that had it died
  stale_memory,     ///< its bytes were reused or lost before they were pulled
  device_error,     ///< the device refused or failed the batch
  poison,           ///< it killed its worker twice, the second time alone
  adapter_unusable  ///< the files of its adapter are unusable
};
inline constexpr size_t failure_count = 8;
std::string_view to_string(failure f);

/// How a worker was lost.
enum class worker_loss : uint16_t { none, worker_lost, worker_crashed };
inline constexpr size_t worker_loss_count = 3;
std::string_view to_string(worker_loss l);

/// A request id from node, low bits of the incarnation, and a counter, so that ids of different gateways or
/// incarnations differ.
constexpr request_id make_request_id(node_id gateway, incarnation_id incarnation, uint64_t count) {
  return request_id{(uint64_t{gateway.value} << 48) | ((incarnation.value & 0xffff) << 32) |
                    (count & 0xffffffff)};
}
/// The gateway that made the id; it need not be a node of this cluster.
constexpr address gateway_of(request_id id) {
  return {node_id{static_cast<uint32_t>(id.value >> 48)}, {}, role::gateway, 0};
}

/// A request, as schedulers and workers know it.
struct request {
  request_id id;
  uint32_t attempt = 1;  ///< counts resubmissions
  model_id model;
  uint32_t rows = 1;    ///< of its leading (batch) dimension
  uint32_t tenant = 0;  ///< position of its [[tenant]] plus one; 0: none
  address gateway;      ///< it assigns the outcome
  time_point arrival = never;
  time_point deadline = never;
  region_ref input;
  worker_loss last_loss = worker_loss::none;  ///< how its last worker was lost; `none`: it lost none
  /// Of a model with free dimensions: a hash of the shapes of its rows. Requests of one class run together.
  uint64_t shape_class = 0;

  TROUPE_MESSAGE(request, id, attempt, model, rows, tenant, gateway, arrival, deadline, input, last_loss,
                 shape_class)
  bool operator==(const request&) const = default;
};

/// gateway → model_queue: requests to serve.
struct submit {
  std::vector<request> requests;
  TROUPE_MESSAGE(submit, requests)
  bool operator==(const submit&) const = default;
};

/// gateway → model_queue: drop this request unless a batch with it was already ordered.
struct cancel {
  request_id id;
  TROUPE_MESSAGE(cancel, id)
  bool operator==(const cancel&) const = default;
};

struct dropped_request {
  request_id id;
  uint32_t attempt = 0;
  drop_reason reason = drop_reason::none;
  TROUPE_MESSAGE(dropped_request, id, attempt, reason)
  bool operator==(const dropped_request&) const = default;
};

/// model_queue → gateway: these were given up and never ran.
struct drops {
  std::vector<dropped_request> requests;
  TROUPE_MESSAGE(drops, requests)
  bool operator==(const drops&) const = default;
};

/// model_queue → gateway: the worker of these requests was lost, and each of them may have crashed it. They
/// run again, alone; the gateway tells the queue of a later leader.
struct suspects {
  worker_loss loss = worker_loss::none;
  std::vector<request_id> requests;
  TROUPE_MESSAGE(suspects, loss, requests)
  bool operator==(const suspects&) const = default;
};

struct result {
  request_id id;
  uint32_t attempt = 0;
  failure error = failure::none;
  region_ref output;   ///< in the worker's pool; empty if it failed
  std::string detail;  ///< of a device_error or an unusable adapter: the cause, for the client
  TROUPE_MESSAGE(result, id, attempt, error, output, detail)
  bool operator==(const result&) const = default;
};

/// When a batch reached each stage; `never` until then. A time of another node is early by up to the
/// conversion error, so two times taken on two nodes may appear in the wrong order by as much.
struct batch_times {
  time_point planned_at = never;   ///< the queue's planned start
  time_point ordered_at = never;   ///< when the queue sent it
  time_point received_at = never;  ///< when the worker had the order
  time_point inputs_at = never;    ///< when the worker had all inputs
  time_point started_at = never;   ///< on the device
  time_point finished_at = never;  ///< likewise
  TROUPE_MESSAGE(batch_times, planned_at, ordered_at, received_at, inputs_at, started_at, finished_at)
  bool operator==(const batch_times&) const = default;
};

/// gpu_worker → gateway: results of a batch for the gateway's requests. The gateway pulls the outputs, then
/// acknowledges with `release`. The message also acknowledges the inputs. model_queue → gateway: requests
/// that failed without a worker to report it. gpu_worker → model_queue: results that the worker could not
/// deliver, for the queue to pass on.
struct completion {
  batch_id batch;
  uint32_t batch_rows = 0;  ///< of the whole batch, for the statistics
  std::vector<result> results;
  batch_times times{};
  TROUPE_MESSAGE(completion, batch, batch_rows, results, times)
  bool operator==(const completion&) const = default;
};

/// gateway → gpu_worker: these outputs were pulled or given up; their memory can be reused.
struct release {
  std::vector<region_ref> regions;
  TROUPE_MESSAGE(release, regions)
  bool operator==(const release&) const = default;
};

}  // namespace troupe
