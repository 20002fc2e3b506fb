#include "gpu/cuda/device_group.hpp"

#include <stdexcept>
#include <string>

#include "gpu/device_lost.hpp"

#ifdef TROUPE_NCCL
#include <nccl.h>
#endif

namespace troupe::cuda {

#ifdef TROUPE_NCCL

namespace {

ncclDataType_t type_of(element e) {
  return e == element::bf16 ? ncclBfloat16 : e == element::f16 ? ncclFloat16 : ncclFloat32;
}

}  // namespace

const bool device_group::available = true;

device_group::device_group(const std::vector<int>& devices) : communicators_(devices.size()) {
  const auto result =
      ncclCommInitAll(communicators_.data(), static_cast<int>(devices.size()), devices.data());
  if (result != ncclSuccess)
    throw std::runtime_error(std::string("NCCL cannot connect the GPUs: ") + ncclGetErrorString(result));
}

device_group::~device_group() {
  if (parted_) return;
  for (ncclComm* c : communicators_) ncclCommDestroy(c);
}

void device_group::sum(uint32_t rank, void* numbers, size_t count, element type, cudaStream_t stream) {
  if (parted_) throw device_lost("one of the GPUs that compute together has failed");
  const auto result =
      ncclAllReduce(numbers, numbers, count, type_of(type), ncclSum, communicators_[rank], stream);
  if (result != ncclSuccess)
    throw device_lost(std::string("a sum over the GPUs: ") + ncclGetErrorString(result));
}

void device_group::share(uint32_t rank, void* what, size_t bytes, cudaStream_t stream) {
  if (parted_) throw device_lost("one of the GPUs that compute together has failed");
  const auto result = ncclBroadcast(what, what, bytes, ncclUint8, 0, communicators_[rank], stream);
  if (result != ncclSuccess) throw device_lost(std::string("what GPUs share: ") + ncclGetErrorString(result));
}

void device_group::gather(uint32_t rank, void* what, size_t bytes, cudaStream_t stream) {
  if (parted_) throw device_lost("one of the GPUs that compute together has failed");
  ncclComm* all = communicators_[rank];
  ncclResult_t result = ncclGroupStart();
  if (rank > 0 && result == ncclSuccess) result = ncclSend(what, bytes, ncclUint8, 0, all, stream);
  for (uint32_t from = 1; rank == 0 && from < ranks() && result == ncclSuccess; ++from)
    result = ncclRecv(static_cast<std::byte*>(what) + (from - 1) * bytes, bytes, ncclUint8,
                      static_cast<int>(from), all, stream);
  const ncclResult_t ended = ncclGroupEnd();
  if (result == ncclSuccess) result = ended;
  if (result != ncclSuccess)
    throw device_lost(std::string("what a GPU gathers: ") + ncclGetErrorString(result));
}

void device_group::part() {
  if (parted_.exchange(true)) return;
  for (ncclComm* c : communicators_) ncclCommAbort(c);
}

#else

const bool device_group::available = false;

device_group::device_group(const std::vector<int>&) {
  throw std::runtime_error("this build has no NCCL: install it and configure again");
}
device_group::~device_group() = default;
void device_group::sum(uint32_t, void*, size_t, element, cudaStream_t) {}
void device_group::share(uint32_t, void*, size_t, cudaStream_t) {}
void device_group::gather(uint32_t, void*, size_t, cudaStream_t) {}
void device_group::part() { parted_ = true; }

#endif

}  // namespace troupe::cuda
