// What a device has of its memory for itself, whatever models are on it.
#pragma once
#include "messages/cluster/cluster.hpp"

namespace troupe {

/// A GPU: what libraries work in, once for batches and once for a model that is loaded beside them
/// (gpu/kernels/cuda/workspace.hpp).
constexpr uint64_t reserved_bytes(device_kind kind) {
  return kind == device_kind::cuda ? uint64_t{576} << 20 : 0;
}

}  // namespace troupe
