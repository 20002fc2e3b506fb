#include "gpu/kernels/cuda/device_group.hpp"

#include <chrono>
#include <stdexcept>
#include <string>

#include "gpu/common/device_lost.hpp"

#ifdef TROUPE_NCCL
#include <nccl.h>
#endif

namespace troupe::cuda {

#ifdef TROUPE_NCCL

namespace {

ncclDataType_t nccl_type(element e) {
  return e == element::bf16 ? ncclBfloat16 : e == element::f16 ? ncclFloat16 : ncclFloat32;
}

}  // namespace

const bool device_group::available = true;

device_group::device_group(const std::vector<int>& devices)
    : communicators_(devices.size()),
      calling_(devices.size()),
      barrier_(static_cast<uint32_t>(devices.size())) {
  const auto result =
      ncclCommInitAll(communicators_.data(), static_cast<int>(devices.size()), devices.data());
  if (result != ncclSuccess)
    throw std::runtime_error(std::string("NCCL cannot connect the GPUs: ") + ncclGetErrorString(result));
}

device_group::~device_group() {
  if (aborted_) return;  // an abort destroys the communicators
  for (ncclComm* c : communicators_) ncclCommDestroy(c);
}

std::unique_lock<std::mutex> device_group::enter(uint32_t rank) {
  std::unique_lock lock(calling_[rank]);
  if (aborted_) throw device_lost("one of the GPUs that compute together has failed");
  return lock;
}

void device_group::all_reduce(uint32_t rank, void* numbers, size_t count, element type, cudaStream_t stream) {
  const auto calling = enter(rank);
  const auto result =
      ncclAllReduce(numbers, numbers, count, nccl_type(type), ncclSum, communicators_[rank], stream);
  if (result != ncclSuccess)
    throw device_lost(std::string("all-reduce over the GPUs: ") + ncclGetErrorString(result));
}

void device_group::broadcast(uint32_t rank, void* what, size_t bytes, cudaStream_t stream) {
  const auto calling = enter(rank);
  const auto result = ncclBroadcast(what, what, bytes, ncclUint8, 0, communicators_[rank], stream);
  if (result != ncclSuccess)
    throw device_lost(std::string("broadcast to the GPUs: ") + ncclGetErrorString(result));
}

void device_group::gather(uint32_t rank, void* what, size_t bytes, cudaStream_t stream) {
  const auto calling = enter(rank);
  ncclComm* all = communicators_[rank];
  ncclResult_t result = ncclGroupStart();
  if (rank > 0 && result == ncclSuccess) result = ncclSend(what, bytes, ncclUint8, 0, all, stream);
  for (uint32_t from = 1; rank == 0 && from < ranks() && result == ncclSuccess; ++from)
    result = ncclRecv(static_cast<std::byte*>(what) + (from - 1) * bytes, bytes, ncclUint8,
                      static_cast<int>(from), all, stream);
  const ncclResult_t ended = ncclGroupEnd();
  if (result == ncclSuccess) result = ended;
  if (result != ncclSuccess)
    throw device_lost(std::string("gather from the GPUs: ") + ncclGetErrorString(result));
}

void device_group::abort() {
  if (aborted_.exchange(true)) return;
  barrier_.abort();
  // A thread for each rank: an abort waits for graphs, which other ranks may hold until their collectives
  // have ended.
  for (uint32_t rank = 0; rank < ranks(); ++rank)
    aborting_.emplace_back([this, rank] {
      // A thread inside an NCCL call returns soon and makes no other call, or it hangs until the abort. If it
      // returns only after the last abort, it uses freed memory; but then the process is about to end.
      std::unique_lock calling(calling_[rank], std::defer_lock);
      for (int ms = 0; ms < 1000 && !calling.try_lock(); ++ms)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      if (calling) calling.unlock();  // later calls throw in `enter`
      ncclCommAbort(communicators_[rank]);
    });
}

#else

const bool device_group::available = false;

device_group::device_group(const std::vector<int>&) : barrier_(0) {
  throw std::runtime_error("this build has no NCCL: install it and configure again");
}
device_group::~device_group() = default;
std::unique_lock<std::mutex> device_group::enter(uint32_t) { return {}; }
void device_group::all_reduce(uint32_t, void*, size_t, element, cudaStream_t) {}
void device_group::broadcast(uint32_t, void*, size_t, cudaStream_t) {}
void device_group::gather(uint32_t, void*, size_t, cudaStream_t) {}
void device_group::abort() { aborted_ = true; }

#endif

}  // namespace troupe::cuda
