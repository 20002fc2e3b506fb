#include "actors/llm/kv_export.hpp"

#include <algorithm>

namespace troupe {

std::optional<std::vector<region_ref>> export_blocks(memory_port& memory, const kv_cache_view& from,
                                                     std::span<const uint32_t> blocks) {
  std::vector<region_ref> out;
  out.reserve(blocks.size());
  for (const auto b : blocks) {
    const auto slot = memory.take(from.block_bytes);
    if (!slot) {
      for (const auto& taken : out) memory.give_back(taken);
      return {};
    }
    std::ranges::copy(from.block(b), slot->payload.begin());
    out.push_back(slot->region);
  }
  return out;
}

bool import_block(const kv_cache_view& into, uint32_t block, std::span<const std::byte> pulled) {
  if (pulled.size() != into.block_bytes || (block + uint64_t{1}) * into.block_bytes > into.bytes.size())
    return false;
  std::ranges::copy(pulled, into.block(block).begin());
  return true;
}

}  // namespace troupe
