// Interface of the batching policies: they hold the queue of one model and decide when its next batch starts
// and which requests are in it (Symphony §3, Algorithm 1, Fig. 18).
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

/// A queued request. The policy returns `handle` unchanged to its owner.
struct queued_request {
  time_point deadline;
  request_id id;      ///< ties between equal deadlines go to the lower id
  uint32_t rows = 1;  ///< 1 or more; a request with more than `max_rows` is dropped at once
  uint32_t handle = 0;
  uint64_t shape_class = 0;  ///< as of a `request`
};

/// A batch that has run on a slot.
struct batch_sample {
  uint64_t shape_class = 0;
  uint32_t rows = 1;
  uint64_t bytes = 0;  ///< of its inputs
  duration took{};
};

struct dropped_queued_request {
  queued_request request;
  drop_reason reason;
  /// The earliest batch that the policy considered for it, for `troupe why`: rows (0: not given), start, and
  /// end with the time for the response; the end is after the deadline.
  uint32_t batch_rows = 0;
  time_point start = never, end = never;
};

struct batching_parameters {
  latency_model latency;           ///< ℓ; may change later through `set_latency`
  network_delay network;           ///< from the decision to the inputs on the device
  duration slo{};                  ///< sets the target batch size of window shedding
  duration response{};             ///< reserved between the end of a batch and its deadline
  duration margin{};               ///< reserved before a deadline for timer jitter
  uint32_t max_rows = 1024;        ///< per batch
  bool alone = false;              ///< each request is a batch of its own
  bool by_shape = false;           ///< only requests of one shape class run together (shape_classes.hpp)
  duration max_learned_latency{};  ///< by shape: latencies are learnt, up to this for a request; zero: given
  uint32_t slots = 1;              ///< upper bound on the slots that the model can use at once
  std::string argument;            ///< of the policy's name, in parentheses: "timeout(30%)"
  plugin_settings settings;        ///< of the policy's plug-in
};

/// Rule by which requests at the head of a queue are dropped in favour of those behind them.
enum class shedding : uint16_t {
  timeout,   ///< requests that even a batch of their own would finish late
  window,    ///< also requests that would be late in a batch that keeps up with the arrivals
             ///< (batch_target.hpp), or, if fewer rows at the end of the queue can still run together, in a
             ///< batch of that size
  staggered  ///< as `window`, but with the full batch of the staggered schedule, as in Symphony's code
};

/// The next batch of a model. `rows == 0`: none.
struct batch_window {
  uint32_t rows = 0;
  time_point exec_at = never;    ///< preferred start
  time_point latest = long_ago;  ///< latest start
  bool operator==(const batch_window&) const = default;
};

/// A slot that serves a share of the model's requests, in a plan of Nexus
/// (policies/baselines/nexus_planner.hpp).
struct backend {
  slot_id slot;
  uint32_t batch = 0;  ///< planned rows
  double weight = 0;   ///< its share of the requests, relative to the other backends
  bool operator==(const backend&) const = default;
};

/// The queue of one model, and the size and time of its next batch. Deterministic. In the policies of this
/// tree an update takes O(log n) in the queue length and an arrival in deadline order O(1); nothing is
/// allocated per request after warm-up.
class batching_policy {
 public:
  virtual ~batching_policy() = default;

  virtual void add(const queued_request& t, time_point now) = 0;
  /// Moves the queued requests for which `leaves` holds to `out`, without a drop. O(n).
  virtual void remove_if(const std::function<bool(const queued_request&)>& leaves,
                         std::vector<queued_request>& out) = 0;

  /// Computes the window anew and drops infeasible requests, for a slot that is free at `slot_free_at`
  /// (`long_ago`: for no particular slot). Call after events and at `wake_at()`.
  virtual void update(time_point now, time_point slot_free_at) = 0;
  virtual const batch_window& window() const = 0;
  /// When `update` must be called next if no event comes before; `never` if not at all.
  virtual time_point wake_at() const = 0;

  /// Moves the requests of the current window to `out`, earliest deadline first. The window is empty until
  /// the next update.
  virtual void take_batch(std::vector<queued_request>& out) = 0;
  /// Moves the requests dropped since the last call to `out`.
  virtual void take_dropped(std::vector<dropped_queued_request>& out) = 0;

  virtual uint32_t queued_rows() const = 0;
  virtual size_t queued_requests() const = 0;
  virtual const latency_model& latency() const = 0;
  /// Of requests of this class; those of a policy without classes all have the same.
  virtual latency_model latency_of(uint64_t /*shape_class*/) const { return latency(); }
  virtual void set_latency(const latency_model& latency) = 0;
  virtual void set_slots(uint32_t slots) = 0;
  // For a policy that learns its latency.
  /// A request of this class has arrived, whether or not it will be queued.
  virtual void arrived(uint64_t /*shape_class*/, uint64_t /*bytes*/) {}
  virtual void learn(const batch_sample&) {}
  /// It takes the place of `former`.
  virtual void take_latency(batching_policy& former) { set_latency(former.latency()); }

  /// How long before a slot is free the policy asks for its grant; zero: the network delay is enough.
  virtual duration lead() const { return {}; }

  /// Slots that the model's present rate keeps busy with the largest batches that its SLO allows; 0: unknown.
  virtual double need() const { return 0; }
  /// Sets the sum of all models' needs over the number of slots (load_tracker.hpp).
  virtual void set_load(double) {}

  /// Sets the slots of the model and their shares, by slot. Empty: the model runs on any slot that is
  /// granted.
  virtual void set_backends(std::span<const backend>, time_point /*now*/) {}
  /// Slots of the window, in order of preference; empty: any.
  virtual std::span<const slot_id> slots() const { return {}; }
  /// Calls after this one, until an `update` for no particular slot, refer to this slot. Returns the window
  /// for this slot, given the window `offered` to the arbiter.
  virtual batch_window choose(slot_id, const batch_window& offered) { return offered; }
};

/// Makes a policy; null if its argument is invalid.
using batching_factory =
    std::function<std::unique_ptr<batching_policy>(const batching_parameters&, shedding)>;

}  // namespace troupe
