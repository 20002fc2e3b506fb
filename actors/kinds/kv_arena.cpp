#include "actors/kinds/kv_arena.hpp"

#include <algorithm>
#include <new>

#include "transport/common/lazy_memory.hpp"
#include "transport/memory/large_blocks.hpp"

namespace troupe {

uint64_t shared_kv_bytes(const cluster_spec& cluster, llm_id model) {
  const auto& m = cluster.llms[model.value];
  const auto engines = std::ranges::count(cluster.engines, model, &engine_spec::model);
  if (engines < 2) return 0;
  if (m.device == device_kind::cpu) return m.kv_bytes;
  if (m.device != device_kind::emulated || m.profile.kv_token_bytes == 0) return 0;
  return m.kv_bytes / m.profile.kv_token_bytes * sizeof(uint64_t);  // a word for each position
}

namespace {

/// Of the model's caches, in whole pages.
uint64_t place_bytes(const cluster_spec& cluster, llm_id model) {
  return (shared_kv_bytes(cluster, model) + large_blocks::alignment - 1) / large_blocks::alignment *
         large_blocks::alignment;
}

/// Of the caches of the node's engines before this one.
uint64_t bytes_before(const cluster_spec& cluster, node_id node, size_t engine) {
  uint64_t out = 0;
  for (size_t i = 0; i < engine; ++i)
    if (cluster.engines[i].node == node) out += place_bytes(cluster, cluster.engines[i].model);
  return out;
}

}  // namespace

uint64_t kv_arena_bytes(const cluster_spec& cluster, node_id node) {
  return bytes_before(cluster, node, cluster.engines.size());
}

llm::image_allocator kv_allocator(const cluster_spec& cluster, engine_id engine, registered_memory arena) {
  const auto& e = cluster.engines[engine.value];
  const auto bytes = place_bytes(cluster, e.model);
  if (bytes == 0) return llm::heap_image_memory;
  const auto before = bytes_before(cluster, e.node, engine.value);
  arena.bytes = arena.bytes.subspan(before, bytes);
  arena.offset += before;
  return [blocks = large_blocks::in(arena)](uint64_t wanted) -> llm::image_memory {
    auto b = blocks->take(wanted);
    if (!b || !make_present(b->bytes)) throw std::bad_alloc();
    return {b->bytes, b->offset, std::move(b->owner), {}};
  };
}

}  // namespace troupe
