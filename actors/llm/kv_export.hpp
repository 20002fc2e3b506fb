// Export and import of KV cache blocks. Exported blocks are copied into slots of the node's registered pool,
// and the other node pulls them like tensors: no process writes the memory of another.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "actors/runtime/memory_port.hpp"

namespace troupe {

/// A device's KV cache: contiguous blocks of `block_bytes` (gpu/llm/engine_device.hpp).
struct kv_cache_view {
  std::span<std::byte> bytes;
  uint64_t block_bytes = 0;

  /// Requires: the cache has this block.
  std::span<std::byte> block(uint32_t index) const { return bytes.subspan(index * block_bytes, block_bytes); }
};

/// Copies the blocks into one region each, in their order. The caller gives a region back once it was pulled.
/// Nothing if the pool has no room for all. Requires: no step writes these blocks meanwhile.
std::optional<std::vector<region_ref>> export_blocks(memory_port& memory, const kv_cache_view& from,
                                                     std::span<const uint32_t> blocks);

/// Writes the pulled bytes of a block into a block of this cache. False: the size is not that of a block, or
/// the cache has no such block; nothing is written.
[[nodiscard]] bool import_block(const kv_cache_view& into, uint32_t block, std::span<const std::byte> pulled);

}  // namespace troupe
