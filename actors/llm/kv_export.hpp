// Blocks of a KV cache on their way to another node: they lie in slots of the own node's registered pool,
// which the other one pulls, as tensors do (DESIGN: nobody writes another process's memory).
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "actors/runtime/memory_port.hpp"

namespace troupe {

/// A device's KV cache: blocks of `block_bytes`, one after the other (gpu/llm/engine_device.hpp).
struct kv_cache_view {
  std::span<std::byte> bytes;
  uint64_t block_bytes = 0;

  /// Requires: the cache has it.
  std::span<std::byte> block(uint32_t index) const { return bytes.subspan(index * block_bytes, block_bytes); }
};

/// A region for each of these blocks, in their order; who pulled one gives it back. Nothing when the pool has
/// no room for all. No step may write them meanwhile.
std::optional<std::vector<region_ref>> export_blocks(memory_port& memory, const kv_cache_view& from,
                                                     std::span<const uint32_t> blocks);

/// Writes what was pulled of a block into one of the own cache. False, and nothing is written: these are not
/// the bytes of a block of such a cache.
[[nodiscard]] bool import_block(const kv_cache_view& into, uint32_t block, std::span<const std::byte> pulled);

}  // namespace troupe
