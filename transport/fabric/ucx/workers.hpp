// The UCX worker that this incarnation of the process uses, and those of its former incarnations for a while.
// UCX tells the connections between two workers apart by counting them on both sides, and a side that misses
// one of them gets confused for good; two incarnations never share a worker.
#pragma once
#include <ucp/api/ucp.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "messages/common/time.hpp"
#include "transport/fabric/ucx/handles.hpp"

namespace troupe::ucx {

/// Used by one thread at a time, but for `address`.
class workers {
 public:
  /// `handler` gets every active message of the present incarnation, with `argument`. `c` outlives the
  /// workers.
  workers(const context& c, ucp_am_recv_callback_t handler, void* argument);

  ucp_worker_h get() const { return present_->get(); }
  int event_fd() const { return present_->event_fd(); }
  bool arm() { return present_->arm(); }
  unsigned progress();

  /// A fresh worker for a new incarnation. From now on the messages to the former one are discarded. Throws
  /// std::runtime_error, and changes nothing, if UCX has none.
  void renew(time_point now);
  /// How many former workers there are.
  size_t former() const { return former_.size(); }
  /// Destroys the former workers whose time is over and of which `in_use(ucp_worker_h)` is false.
  template <class InUse>
  void close_broken(time_point now, InUse&& in_use) {
    std::erase_if(former_, [&](const auto& w) { return now >= w.until && !in_use(w.it->get()); });
  }

  /// Of the present worker. From any thread.
  std::string address() const;

 private:
  struct former_worker {
    std::unique_ptr<worker> it;
    time_point until;
  };
  /// UCX aborts the process if a worker is destroyed that has yet to answer a peer's first message.
  static constexpr duration linger = 30s;

  std::unique_ptr<worker> make() const;

  const context& context_;
  const ucp_am_recv_callback_t handler_;
  void* const argument_;
  std::unique_ptr<worker> present_;
  std::vector<former_worker> former_;
  mutable std::mutex mutex_;
  std::string address_;
};

}  // namespace troupe::ucx
