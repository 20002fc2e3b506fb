// The KV cache of an emulated engine device: a word for each position, and a sum for each block, so that a
// hash over a sequence reads the sums of its full blocks in place of their words.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gpu/llm/engine_device.hpp"
#include "gpu/llm/image_memory.hpp"

namespace troupe::llm {

/// Mixes a value into a hash. Against mix-ups, not against attackers.
constexpr uint64_t mixed(uint64_t value, uint64_t hash) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15;
  return hash ^ hash >> 32;
}

class emulated_kv_cache {
 public:
  emulated_kv_cache() = default;
  /// Throws std::bad_alloc if `allocate` has no memory left.
  emulated_kv_cache(uint32_t blocks, uint32_t block_tokens,
                    const image_allocator& allocate = heap_image_memory);

  /// The place of a position of a sequence with these blocks.
  size_t place(std::span<const uint32_t> blocks, uint64_t position) const {
    return size_t{blocks[position / block_tokens_]} * block_tokens_ + position % block_tokens_;
  }
  void write(size_t place, uint64_t word);

  /// A hash over the words at positions [0, end) of a sequence with these blocks, in their order. It changes
  /// with each word, and with the block that a word is in. O(blocks + block_tokens).
  uint64_t hash(std::span<const uint32_t> blocks, uint64_t end, uint64_t start) const;

  /// [blocks, block_tokens] words. After writing to a block, call `refresh`.
  kv_cache_memory memory() const { return {std::as_writable_bytes(words_), memory_.offset}; }
  void refresh(uint32_t block) { sums_[block] = sum_of(block); }

 private:
  uint64_t sum_of(uint32_t block) const;

  uint32_t block_tokens_ = 1;
  image_memory memory_;
  std::span<uint64_t> words_;   // in `memory_`
  std::vector<uint64_t> sums_;  // by block
};

}  // namespace troupe::llm
