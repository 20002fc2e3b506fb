// Scratch memory of products and convolutions. Its content is not kept between calls.
#pragma once
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "gpu/kernels/cuda/device_memory.hpp"

namespace troupe::cuda {

/// Memory of the current device, allocated on first use. Its address never changes, as graphs hold it. Users
/// that never run at the same time can share a workspace. Thread-safe. Throws cuda_error.
class workspace {
 public:
  static constexpr size_t products_bytes = size_t{32} << 20;  // recommended by cuBLAS for Hopper
  static constexpr size_t max_convolutions_bytes = size_t{256} << 20;

  workspace() = default;
  /// A workspace at most as large as `other`, so that algorithms chosen here run there.
  explicit workspace(std::shared_ptr<workspace> other) : other_(std::move(other)) {}

  const device_memory& products() {
    const std::scoped_lock lock(mutex_);
    if (products_.size() == 0) products_ = device_memory(products_bytes);
    return products_;
  }
  /// `max_convolutions_bytes`, or as much as is free; empty if that is too little.
  const device_memory& convolutions() {
    const std::scoped_lock lock(mutex_);
    if (convolutions_) return *convolutions_;
    const size_t max_bytes = other_ ? other_->convolutions().size() : max_convolutions_bytes;
    for (size_t bytes = max_bytes; bytes >= size_t{1} << 20; bytes /= 2) {
      try {
        return convolutions_.emplace(bytes);
      } catch (const cuda_error& e) {
        if (!e.out_of_memory()) throw;
      }
    }
    return convolutions_.emplace();
  }

 private:
  const std::shared_ptr<workspace> other_;
  std::mutex mutex_;  // guards the rest
  device_memory products_;
  std::optional<device_memory> convolutions_;
};

}  // namespace troupe::cuda
