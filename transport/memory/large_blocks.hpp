// Large blocks of one arena, such as the images of models: the lowest free place that fits. Pages of free
// blocks go back to the machine.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "transport/fabric/fabric.hpp"

namespace troupe {

/// Thread-safe.
class large_blocks : public std::enable_shared_from_this<large_blocks> {
 public:
  /// Blocks begin at multiples of this, and of a page.
  static constexpr uint64_t alignment = 4096;

  struct block {
    std::span<std::byte> bytes;   ///< `make_present` (lazy_memory.hpp) takes the pages of parts before use
    uint64_t offset = 0;          ///< for pulls by peers
    std::shared_ptr<void> owner;  ///< its end frees the block; it keeps the allocator alive
  };

  /// `arena` lives as long as the last block.
  static std::shared_ptr<large_blocks> in(registered_memory arena) {
    return std::shared_ptr<large_blocks>(new large_blocks(arena));
  }
  /// Nothing without enough room in one piece.
  std::optional<block> take(uint64_t bytes);

  uint64_t capacity() const { return arena_.bytes.size(); }
  uint64_t in_use() const;  ///< bytes

 private:
  explicit large_blocks(registered_memory arena) : arena_(arena) {}
  void give_back(uint64_t at);

  const registered_memory arena_;
  mutable std::mutex mutex_;           ///< guards the rest
  std::map<uint64_t, uint64_t> used_;  ///< offset in the arena → bytes
};

}  // namespace troupe
