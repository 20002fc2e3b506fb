// Poison retries: the requests of a batch whose worker died run again alone, until the one that kills is
// known.
//
// Each request of such a batch may have killed the worker. Each runs once more as a batch of its own, on a
// worker that the arbiter keeps free of everything else meanwhile. Two crashes, the second of them alone,
// convict a request of poison; any other second loss fails it as `worker_lost`. So no request kills a third
// worker, and its neighbours only wait.
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "messages/common/ids.hpp"
#include "messages/common/time.hpp"
#include "messages/tensor/latency.hpp"
#include "messages/tensor/request.hpp"

namespace troupe {

/// How a worker that had a request was lost.
enum class worker_loss : uint8_t { none, worker_lost, worker_crashed };

/// The failure of a request that lost two workers, the second one while it ran alone.
constexpr failure poison_verdict(worker_loss first, worker_loss alone) {
  return first == worker_loss::worker_crashed && alone == worker_loss::worker_crashed ? failure::poison
                                                                                      : failure::worker_lost;
}

/// The poison retries of a model that wait, by (latest start, id), and whether the arbiter knows of them. The
/// arbiter is told of one retry at a time. A latency that changes later does not reorder the queue. Insertion
/// and removal cost O(n); n is at most the rows of the batches of a dead worker.
class poison_retry_queue {
 public:
  /// `handle` is the owner's.
  struct retry {
    uint32_t handle = 0;
    request_id id;
    uint32_t rows = 1;
    time_point deadline;

    time_point latest_start(const latency_model& latency) const { return deadline - latency(rows); }
  };

  bool empty() const { return waiting_.empty(); }
  size_t size() const { return waiting_.size(); }
  const retry& front() const { return waiting_.front(); }

  void add(const retry& r, const latency_model& latency);
  /// Precondition: not empty.
  retry take_front();
  /// The handle of the first retry if its latest start lies before `now`; it waits no more.
  std::optional<uint32_t> take_late(time_point now, const latency_model& latency);
  /// Removes the retries for which `leaves(handle)` holds and appends their handles to `out`.
  template <class F>
  void remove_if(F&& leaves, std::vector<uint32_t>& out) {
    std::erase_if(waiting_, [&](const retry& r) {
      const bool gone = leaves(r.handle);
      if (gone) out.push_back(r.handle);
      return gone;
    });
  }
  /// Forgets the retries, and that the arbiter knows of one.
  void clear();

  /// The rows of the retry that the arbiter is to be told of now; 0: that there is none any more. Empty: the
  /// arbiter knows already, or the offer is delayed.
  std::optional<uint32_t> offer(time_point now);
  /// The arbiter's knowledge is used up: it has granted the retry, or is no longer the model's. Returns
  /// whether it knew of one.
  bool withdraw();
  /// No offer before that moment.
  void delay_offer(time_point until) { offer_at_ = until; }

  /// When a retry becomes late or an offer is due; `never`: nothing to wake for.
  time_point wake_at(const latency_model& latency) const;

 private:
  std::vector<retry> waiting_;
  bool offered_ = false;
  time_point offer_at_ = long_ago;
};

}  // namespace troupe
