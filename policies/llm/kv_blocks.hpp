// Which blocks of a device's KV cache are taken. A block holds the keys and values of `block_tokens`
// positions of one sequence, of all layers; sequences that begin alike can share blocks.
#pragma once
#include <cstdint>
#include <vector>

namespace troupe::llm {

class kv_blocks {
 public:
  explicit kv_blocks(uint32_t count);

  uint32_t count() const { return static_cast<uint32_t>(users_.size()); }
  uint32_t free() const { return static_cast<uint32_t>(free_.size()); }

  /// A free block, for one user. Requires: free() > 0. The one given back last comes first: it is still in
  /// caches.
  uint32_t take();
  /// One user more. Requires: the block is taken.
  void share(uint32_t block);
  /// One user less; without users it is free. Requires: the block is taken.
  void give_back(uint32_t block);
  uint32_t users(uint32_t block) const { return users_[block]; }

 private:
  std::vector<uint32_t> users_;  // of each block
  std::vector<uint32_t> free_;
};

}  // namespace troupe::llm
