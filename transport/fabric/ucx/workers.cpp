#include "transport/fabric/ucx/workers.hpp"

#include <utility>

namespace troupe::ucx {

workers::workers(const context& c, ucp_am_recv_callback_t handler, void* argument)
    : context_(c), handler_(handler), argument_(argument), present_(make()), address_(present_->address()) {}

std::unique_ptr<worker> workers::make() const {
  auto made = std::make_unique<worker>(context_);
  made->on_message(handler_, argument_);
  return made;
}

unsigned workers::progress() {
  unsigned did = present_->progress();
  for (const auto& w : former_) did += w.it->progress();
  return did;
}

void workers::renew(time_point now) {
  auto next = make();
  std::string address = next->address();
  present_->on_message(
      [](void*, const void*, size_t, void*, size_t, const ucp_am_recv_param_t*) { return UCS_OK; }, nullptr);
  former_.push_back({std::exchange(present_, std::move(next)), now + linger});
  const std::lock_guard lock(mutex_);
  address_ = std::move(address);
}

std::string workers::address() const {
  const std::lock_guard lock(mutex_);
  return address_;
}

}  // namespace troupe::ucx
