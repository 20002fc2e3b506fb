// A library's handle from a pool that lasts until the process ends. Handles are not destroyed, as this waits
// for the whole device and so invalidates graph captures of other threads (CUDA's programming guide:
// "prohibited and unhandled operations").
#pragma once
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace troupe::cuda {

/// Handle: a pointer type. An owner is empty or has exclusive use of its handle. Owners may be used in
/// different threads.
template <class Handle>
class pooled_handle {
 public:
  pooled_handle() = default;
  /// A free handle of this device, or a new one from `make`.
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
    static pool& all = *new pool;  // never destroyed: owners may live as long as the process
    return all;
  }

  int device_ = 0;
  Handle handle_ = nullptr;
};

}  // namespace troupe::cuda
