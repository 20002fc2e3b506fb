// Memory of the KV caches of a node's engines that peers may pull from (messages/llm/handover.hpp).
#pragma once
#include <cstdint>

#include "gpu/llm/image_memory.hpp"
#include "messages/cluster/cluster.hpp"
#include "transport/fabric/fabric.hpp"

namespace troupe {

/// Size of the KV cache of an engine of this model if another engine of the cluster may pull from it, else 0.
/// Caches on GPUs cannot be pulled from.
uint64_t shared_kv_bytes(const cluster_spec& cluster, llm_id model);
/// Of all engines of the node, each in a block of its own.
uint64_t kv_arena_bytes(const cluster_spec& cluster, node_id node);

/// Allocates the KV cache of this engine in its block of its node's arena, or on the heap if it has none.
llm::image_allocator kv_allocator(const cluster_spec& cluster, engine_id engine, registered_memory arena);

}  // namespace troupe
