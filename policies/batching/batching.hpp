// When a model's queue wants to run which requests: the batching policies (Symphony §3, Algorithm 1, Fig.
// 18).
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "messages/common/ids.hpp"
#include "messages/common/plugin.hpp"
#include "messages/common/time.hpp"
#include "messages/tensor/latency.hpp"
#include "messages/tensor/request.hpp"

namespace troupe {

/// A request in the queue, as a policy sees it. `handle` is the owner's, given back untouched.
struct queued_request {
  time_point deadline;
  request_id id;      ///< ties between equal deadlines go to the lower id
  uint32_t rows = 1;  ///< 1 or more; a request with more than `max_rows` is dropped at once
  uint32_t handle = 0;
};

struct dropped_queued_request {
  queued_request request;
  drop_reason reason;
  /// The batch by which the policy judged it, for `troupe why`: so many rows (0: it does not say) could have
  /// started and ended then, what is kept free for the answer included; that was after the deadline.
  uint32_t batch_rows = 0;
  time_point start = never, end = never;
};

struct batching_parameters {
  latency_model latency;     ///< ℓ; may change later through `set_latency`
  network_delay network;     ///< decision → inputs on the device
  duration slo{};            ///< for the target batch size of window shedding
  duration response{};       ///< kept free between the end of a batch and its deadline
  duration margin{};         ///< kept free before a deadline for timer jitter
  uint32_t max_rows = 1024;  ///< a batch
  uint32_t slots = 1;        ///< upper bound on the slots that the model can use at once
  std::string argument;      ///< what stands in parentheses behind the policy's name: "timeout(30%)"
  plugin_settings settings;  ///< of the plug-in that the policy is from
};

/// Which requests at the head of a queue are given up for those behind them.
enum class shedding : uint16_t {
  timeout,   ///< those that not even a batch of their own would finish in time
  window,    ///< also those that would be late in a batch that keeps up with the arrivals (batch_target.hpp),
             ///< or in a smaller one if no more of the queue than that can still run together
  staggered  ///< as `window`, but for the whole batch of the staggered schedule, as Symphony's own code
};

/// The batch that a model could run next. `rows == 0`: none.
struct batch_window {
  uint32_t rows = 0;
  time_point exec_at = never;    ///< when it wants to start
  time_point latest = long_ago;  ///< when it must have started
  bool operator==(const batch_window&) const = default;
};

/// A slot that has the model for a share of its requests, as Nexus plans it
/// (policies/baselines/nexus_planner.hpp).
struct backend {
  slot_id slot;
  uint32_t batch = 0;  ///< planned rows
  double weight = 0;   ///< requests that it gets, in proportion to those of the others
  bool operator==(const backend&) const = default;
};

/// The queue of one model and the decision when to run how much of it. Deterministic. In-tree policies take
/// O(log n) an update in the queue length and O(1) for an arrival in deadline order, and allocate nothing per
/// request once warm.
class batching_policy {
 public:
  virtual ~batching_policy() = default;

  virtual void add(const queued_request& t, time_point now) = 0;
  /// Moves out, unserved, those queued requests for which `leaves` says so. O(n).
  virtual void remove_if(const std::function<bool(const queued_request&)>& leaves,
                         std::vector<queued_request>& out) = 0;

  /// Brings the window up to date and drops what became hopeless, for a slot free at `slot_free_at`
  /// (`long_ago`: none in particular). Call after events and at `wake_at()`.
  virtual void update(time_point now, time_point slot_free_at) = 0;
  virtual const batch_window& window() const = 0;
  /// When `update` must be called next even if nothing happens; `never` if not at all.
  virtual time_point wake_at() const = 0;

  /// Moves the requests of the current window out of the queue, earliest deadline first, and empties the
  /// window until the next update.
  virtual void take_batch(std::vector<queued_request>& out) = 0;
  /// Moves out what was dropped since the last call.
  virtual void take_dropped(std::vector<dropped_queued_request>& out) = 0;

  virtual uint32_t queued_rows() const = 0;
  virtual size_t queued_requests() const = 0;
  virtual const latency_model& latency() const = 0;
  virtual void set_latency(const latency_model& latency) = 0;
  virtual void set_slots(uint32_t slots) = 0;

  /// How long before a slot is free the policy wants to be granted it, if not just for the network.
  virtual duration lead() const { return {}; }

  /// How many slots the model's present rate keeps busy with batches as large as its SLO allows; 0: unknown.
  virtual double need() const { return 0; }
  /// What all models together need, over the slots that there are (load_tracker.hpp).
  virtual void set_load(double) {}

  /// By slot: where the model is to run, and how much of it. None: wherever a slot is granted.
  virtual void set_backends(std::span<const backend>, time_point /*now*/) {}
  /// The slots that the window is for, in their order; none: any.
  virtual std::span<const slot_id> slots() const { return {}; }
  /// What comes next, up to an `update` for no slot in particular, is about this slot. Returns what the
  /// window `told` said of it.
  virtual batch_window choose(slot_id, const batch_window& offered) { return offered; }
};

/// Makes a policy; null for an argument that it does not take.
using batching_factory =
    std::function<std::unique_ptr<batching_policy>(const batching_parameters&, shedding)>;

}  // namespace troupe
