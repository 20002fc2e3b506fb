// A library's handle, used by one owner after the other and kept until the process ends: to destroy one waits
// for the whole device, which ends the capture of a graph by any other thread (CUDA's programming guide:
// "prohibited and unhandled operations").
#pragma once
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace troupe::cuda {

/// Handle: a pointer; empty, or this owner's alone. Thread-safe among owners.
template <class Handle>
class pooled_handle {
 public:
  pooled_handle() = default;
  /// One of this device that nobody has, or what `make` gives.
  template <class Make>
  pooled_handle(int device, Make make) : device_(device) {
    {
      const std::scoped_lock lock(idle().mutex);
      auto& here = idle().handles[device];
      if (!here.empty()) {
        handle_ = here.back();
        here.pop_back();
      }
    }
    if (handle_ == nullptr) handle_ = make();
  }
  ~pooled_handle() {
    if (handle_ == nullptr) return;
    const std::scoped_lock lock(idle().mutex);
    idle().handles[device_].push_back(handle_);
  }
  pooled_handle(pooled_handle&& other) noexcept
      : device_(other.device_), handle_(std::exchange(other.handle_, nullptr)) {}
  pooled_handle& operator=(pooled_handle&& other) noexcept {
    std::swap(device_, other.device_), std::swap(handle_, other.handle_);
    return *this;
  }

  operator Handle() const { return handle_; }

 private:
  struct pool {
    std::mutex mutex;
    std::map<int, std::vector<Handle>> handles;  // by device
  };
  static pool& idle() {
    static pool& all = *new pool;  // owners may end as late as the process
    return all;
  }

  int device_ = 0;
  Handle handle_ = nullptr;
};

}  // namespace troupe::cuda
