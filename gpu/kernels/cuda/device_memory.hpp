// RAII memory of the current device, and pinned host memory.
#pragma once
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

#include "gpu/kernels/cuda/check.hpp"
#include "gpu/kernels/cuda/owned_stream.hpp"

namespace troupe::cuda {

/// A stream for the allocations of stream_memory. It has only copies besides, and is never captured, so an
/// allocation that runs out of memory can wait for it.
class memory_stream : public owned_stream {
 public:
  memory_stream() {
    const std::scoped_lock lock(mutex_);
    all_.push_back(*this);
  }
  ~memory_stream() {
    const std::scoped_lock lock(mutex_);
    std::erase(all_, static_cast<cudaStream_t>(*this));
  }
  /// Waits for all such streams of the process. False: a wait failed.
  static bool finish_all() {
    const std::scoped_lock lock(mutex_);
    return std::ranges::all_of(all_, [](cudaStream_t s) { return cudaStreamSynchronize(s) == cudaSuccess; });
  }

 private:
  static inline std::mutex mutex_;
  static inline std::vector<cudaStream_t> all_;
};

/// Aligned to 256 bytes. Throws cuda_error, also if there is no room.
class device_memory {
 public:
  device_memory() = default;
  explicit device_memory(size_t bytes) : bytes_(bytes) {
    if (bytes == 0) return;
    cudaError_t result = cudaMalloc(&data_, bytes);
    if (result == cudaErrorMemoryAllocation && empty_pool()) result = cudaMalloc(&data_, bytes);
    check(result, "device memory");
  }
  device_memory(device_memory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  device_memory& operator=(device_memory&& other) noexcept {
    std::swap(data_, other.data_), std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~device_memory() { cudaFree(data_); }

  std::byte* data() const { return static_cast<std::byte*>(data_); }
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }
  size_t size() const { return bytes_; }

 private:
  /// Frees the pool of stream_memory, which cudaMalloc does not use. The pool frees memory only after the
  /// host has waited for its streams. A wait for the whole device would invalidate graph captures, also in
  /// other threads (CUDA's programming guide: "prohibited and unhandled operations").
  static bool empty_pool() {
    cudaGetLastError();  // clears the out-of-memory error
    int device = 0;
    cudaMemPool_t pool = nullptr;
    return memory_stream::finish_all() && cudaGetDevice(&device) == cudaSuccess &&
           cudaDeviceGetDefaultMemPool(&pool, device) == cudaSuccess &&
           cudaMemPoolTrimTo(pool, 0) == cudaSuccess;
  }

  void* data_ = nullptr;
  size_t bytes_ = 0;
};

/// The same, allocated and freed in the order of a stream, which must outlive it. No other work waits for
/// this.
class stream_memory {
 public:
  stream_memory() = default;
  stream_memory(size_t bytes, const memory_stream& stream) : stream_(stream), bytes_(bytes) {
    if (bytes > 0) check(cudaMallocAsync(&data_, bytes, stream), "device memory");
  }
  stream_memory(stream_memory&& other) noexcept
      : stream_(other.stream_),
        data_(std::exchange(other.data_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)) {}
  stream_memory& operator=(stream_memory&& other) noexcept {
    std::swap(stream_, other.stream_), std::swap(data_, other.data_), std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~stream_memory() {
    if (data_ != nullptr) cudaFreeAsync(data_, stream_);
  }

  std::byte* data() const { return static_cast<std::byte*>(data_); }
  size_t size() const { return bytes_; }

 private:
  cudaStream_t stream_ = nullptr;
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

/// Pinned host memory, for asynchronous copies.
class pinned_memory {
 public:
  pinned_memory() = default;
  explicit pinned_memory(size_t bytes) : bytes_(bytes) {
    if (bytes > 0) check(cudaMallocHost(&data_, bytes), "pinned memory");
  }
  pinned_memory(pinned_memory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  pinned_memory& operator=(pinned_memory&& other) noexcept {
    std::swap(data_, other.data_), std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~pinned_memory() { cudaFreeHost(data_); }

  std::byte* data() const { return static_cast<std::byte*>(data_); }
  size_t size() const { return bytes_; }

 private:
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace troupe::cuda
