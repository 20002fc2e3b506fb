// Allocator of a device's KV cache blocks. A block holds keys and values of `block_tokens` positions of one
// sequence, for all layers. Sequences with a common prefix can share blocks.
#pragma once
#include <cstdint>
#include <vector>

namespace troupe::llm {

class kv_blocks {
 public:
  explicit kv_blocks(uint32_t count);

  uint32_t count() const { return static_cast<uint32_t>(users_.size()); }
  uint32_t free() const { return static_cast<uint32_t>(free_.size()); }

  /// Takes a free block, for one user. Requires: free() > 0. The most recently freed one comes first, because
  /// it is still in caches.
  uint32_t take();
  /// Adds a user. Requires: the block is taken.
  void share(uint32_t block);
  /// Removes a user; a block without users is free. Requires: the block is taken.
  void give_back(uint32_t block);
  uint32_t users(uint32_t block) const { return users_[block]; }

 private:
  std::vector<uint32_t> users_;  // of each block
  std::vector<uint32_t> free_;
};

}  // namespace troupe::llm
