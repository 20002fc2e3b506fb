// Poison retries: the requests of a batch whose worker died run again, each alone, to identify the request
// that crashes workers.
//
// Any request of such a batch may have crashed the worker. Each runs once more as a batch of its own, on a
// node that the arbiter keeps free of all other batches (quarantine.hpp). A request fails as `poison` after
// two crashes, the second of them alone, and as `worker_lost` after any other second loss. Thus no request
// crashes a third worker, and the other requests of the batch are only delayed.
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

/// The failure of a request that lost two workers, the second one while it ran alone.
constexpr failure poison_verdict(worker_loss first, worker_loss alone) {
  return first == worker_loss::worker_crashed && alone == worker_loss::worker_crashed ? failure::poison
                                                                                      : failure::worker_lost;
}

/// The waiting poison retries of a model, by (latest start, id), and whether one is offered to the arbiter:
/// at most one is at a time. A later change of the latency does not reorder the queue. Insertion and removal
/// cost O(n); n is at most the number of requests in the batches of dead workers.
class poison_retry_queue {
 public:
  /// `handle` belongs to the owner.
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
  /// Removes the first retry if its latest start is before `now`, and returns its handle.
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
  /// Removes all retries and the offer.
  void clear();

  /// The message for the arbiter: the rows of the first retry, or 0 to withdraw the offer. Empty: the arbiter
  /// is up to date, or the offer is delayed.
  std::optional<uint32_t> offer(time_point now);
  /// The offer is void: it has been granted, or the model has another arbiter now. Returns whether there was
  /// one.
  bool withdraw();
  /// Delays the next offer until then.
  void delay_offer(time_point until) { offer_at_ = until; }

  /// When a retry becomes late or an offer is due; `never` if neither.
  time_point wake_at(const latency_model& latency) const;

 private:
  std::vector<retry> waiting_;
  bool offered_ = false;
  time_point offer_at_ = long_ago;
};

}  // namespace troupe
