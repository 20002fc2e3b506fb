// Limits of the memory that peers pull from, apart from the machine's memory: shared memory (/dev/shm), and
// the memory that a process may lock for RDMA (RLIMIT_MEMLOCK).
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "messages/cluster/cluster.hpp"

namespace troupe {

struct memory_limits {
  std::optional<uint64_t> shared;  ///< bytes left in /dev/shm; nothing: no limit, or no shared memory is used
  std::optional<uint64_t> locked;  ///< bytes a process may lock; nothing: no limit, or none are locked
};

/// The transports of UCX_TLS that matter here.
struct ucx_memory_use {
  bool shares = false;
  bool locks = false;  ///< if the machine has an RDMA device
};
ucx_memory_use memory_use_of(std::string_view ucx_tls);

/// Of this process, for the data lane of this cluster.
memory_limits limits_here(const cluster_spec& cluster);

/// The memory that a node registers: its pool, KV caches, and the images of models that scale. Models whose
/// files are unusable count nothing.
uint64_t registered_bytes(const cluster_spec& cluster, node_id node);

/// What is wrong with the limits for these nodes of one machine, and the fix; or nothing.
std::string memory_limit_problem(const cluster_spec& cluster, std::span<const node_id> nodes,
                                 const memory_limits& limits);

/// Removes the shared memory of killed processes, and logs it.
void remove_abandoned_memory();

/// Nodes whose host is this machine.
std::vector<node_id> nodes_here(const cluster_spec& cluster);

}  // namespace troupe
