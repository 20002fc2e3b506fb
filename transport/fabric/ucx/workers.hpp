// UCX workers of the process: that of its current incarnation, and for a while those of former ones. UCX
// identifies the connections between two workers by counting them on both sides, and never recovers if a side
// misses one. So two incarnations never share a worker.
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
  /// `handler` gets every active message of the current incarnation, with `argument`. `c` outlives the
  /// workers.
  workers(const context& c, ucp_am_recv_callback_t handler, void* argument);

  ucp_worker_h get() const { return present_->get(); }
  int event_fd() const { return present_->event_fd(); }
  bool arm() { return present_->arm(); }
  unsigned progress();

  /// Creates a worker for a new incarnation. Messages to the former one are discarded from now on. Throws
  /// std::runtime_error, and changes nothing, if UCX fails.
  void renew(time_point now);
  /// Number of former workers.
  size_t former() const { return former_.size(); }
  /// Destroys the former workers whose linger time is over, unless `in_use(ucp_worker_h)`.
  template <class InUse>
  void destroy_expired(time_point now, InUse&& in_use) {
    std::erase_if(former_, [&](const auto& w) { return now >= w.until && !in_use(w.it->get()); });
  }

  /// Address of the current worker. From any thread.
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
