// GPUs of one node as the ranks of a tensor-parallel model: all-reduce, broadcast, gather (NCCL) and a host
// barrier.
#pragma once
#include <cuda_runtime_api.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "gpu/common/element.hpp"
#include "gpu/kernels/cuda/rank_barrier.hpp"

struct ncclComm;

namespace troupe::cuda {

class device_group {
 public:
  /// Whether this build found NCCL.
  static const bool available;

  /// Rank i is GPU devices[i]. Throws std::runtime_error.
  explicit device_group(const std::vector<int>& devices);
  ~device_group();
  device_group(const device_group&) = delete;
  device_group& operator=(const device_group&) = delete;

  uint32_t ranks() const { return static_cast<uint32_t>(communicators_.size()); }
  /// In place, in the order of the stream, on the thread of this rank, to which its GPU is bound; can be
  /// captured. All ranks do the same in the same order, and get the same bits. Throws device_lost, also after
  /// abort().
  void all_reduce(uint32_t rank, void* numbers, size_t count, element type, cudaStream_t stream);
  /// Likewise: all get what the first rank has there.
  void broadcast(uint32_t rank, void* what, size_t bytes, cudaStream_t stream);
  /// Likewise: the first rank gets what the others have there, so many bytes each, one after the other.
  void gather(uint32_t rank, void* what, size_t bytes, cudaStream_t stream);
  /// Waits until all ranks' threads have arrived: none has anything to launch yet that others wait for.
  /// Throws device_lost after abort().
  void barrier() { barrier_.arrive_and_wait(); }
  /// Ends the collectives under way, with any result, and the waits at the barrier. From any thread; the
  /// group is of no use afterwards. It must outlive the graphs with collectives: NCCL frees a communicator
  /// only after them.
  void abort();

 private:
  /// For a call of NCCL. Throws device_lost after abort().
  std::unique_lock<std::mutex> enter(uint32_t rank);

  std::vector<ncclComm*> communicators_;
  std::vector<std::mutex> calling_;  // by rank
  std::atomic<bool> aborted_ = false;
  rank_barrier barrier_;
  std::vector<std::jthread> aborting_;  // the last: they use the others
};

}  // namespace troupe::cuda
