// Device memory that models cannot use.
#pragma once
#include "messages/cluster/cluster.hpp"

namespace troupe {

/// In bytes. On a GPU: workspaces of libraries, one for batches and one for a model that is loaded meanwhile
/// (gpu/kernels/cuda/workspace.hpp).
constexpr uint64_t reserved_bytes(device_kind kind) {
  return kind == device_kind::cuda ? uint64_t{576} << 20 : 0;
}

}  // namespace troupe
