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
  /// True if this build found NCCL.
  static const bool available;

  /// Rank i is GPU devices[i]. Throws std::runtime_error.
  explicit device_group(const std::vector<int>& devices);
  ~device_group();
  device_group(const device_group&) = delete;
  device_group& operator=(const device_group&) = delete;

  uint32_t ranks() const { return static_cast<uint32_t>(communicators_.size()); }
  /// Sums in place, in the order of the stream. Called on the rank's thread, with its GPU current. Can be
  /// captured. All ranks must make the same calls in the same order; they get the same bits. Throws
  /// device_lost, also after abort().
  void all_reduce(uint32_t rank, void* numbers, size_t count, element type, cudaStream_t stream);
  /// Likewise. All ranks get the bytes of rank 0.
  void broadcast(uint32_t rank, void* what, size_t bytes, cudaStream_t stream);
  /// Likewise. Rank 0 gets `bytes` of each other rank at `what`, in the order of ranks.
  void gather(uint32_t rank, void* what, size_t bytes, cudaStream_t stream);
  /// Waits until the threads of all ranks have arrived, so that no rank has still to launch a collective of
  /// the others. Throws device_lost after abort().
  void barrier() { barrier_.arrive_and_wait(); }
  /// Ends running collectives, with undefined results, and waits at the barrier. From any thread. The group
  /// is unusable afterwards. It must outlive graphs with collectives: NCCL frees a communicator only after
  /// them.
  void abort();

 private:
  /// Lock for a call of NCCL. Throws device_lost after abort().
  std::unique_lock<std::mutex> enter(uint32_t rank);

  std::vector<ncclComm*> communicators_;
  std::vector<std::mutex> calling_;  // by rank
  std::atomic<bool> aborted_ = false;
  rank_barrier barrier_;
  std::vector<std::jthread> aborting_;  // last, as the threads use the other members
};

}  // namespace troupe::cuda
