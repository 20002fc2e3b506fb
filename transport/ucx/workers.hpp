// The UCX worker that this life of the process uses, and those of its former lives that still have
// connections to close. UCX tells the connections between two workers apart by counting them on both sides,
// and a side that misses one of them gets confused for good; two lives never share a worker.
#pragma once
#include <ucp/api/ucp.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "transport/ucx/handles.hpp"

namespace troupe::ucx {

/// Used by one thread at a time, but for `address`.
class workers {
 public:
  /// `handler` gets every active message of the present life, with `argument`. `c` outlives the workers.
  workers(const context& c, ucp_am_recv_callback_t handler, void* argument);

  ucp_worker_h get() const { return present_->get(); }
  int event_fd() const { return present_->event_fd(); }
  bool arm() { return present_->arm(); }
  unsigned progress();

  /// A fresh worker for a new life. From now on the messages to the former one are discarded. Throws
  /// std::runtime_error, and changes nothing, if UCX has none.
  void renew();
  /// Destroys the former workers of which `in_use(ucp_worker_h)` is false.
  template <class InUse>
  void tidy(InUse&& in_use) {
    std::erase_if(former_, [&](const auto& w) { return !in_use(w->get()); });
  }

  /// Of the present worker. From any thread.
  std::string address() const;

 private:
  std::unique_ptr<worker> make() const;

  const context& context_;
  const ucp_am_recv_callback_t handler_;
  void* const argument_;
  std::unique_ptr<worker> present_;
  std::vector<std::unique_ptr<worker>> former_;
  mutable std::mutex mutex_;
  std::string address_;
};

}  // namespace troupe::ucx
