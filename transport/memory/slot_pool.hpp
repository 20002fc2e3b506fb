// Slot pool: the owner's allocator for memory that peers pull from. Slots of any size in the registered pool,
// by best fit; some freed slots are kept for the next request of their size. A slot belongs to its taker
// until it is given back. Its generation is never reused, so late readers notice
// (transport/memory/pull_check.hpp has the argument). The pool takes its memory from the lowest offset
// upwards, as far as slots were ever in use at once, and keeps it.
#pragma once
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "messages/common/id_table.hpp"
#include "messages/common/memory.hpp"
#include "transport/fabric/fabric.hpp"

namespace troupe {

/// A slot being filled. The payload begins at a multiple of 64 bytes.
struct slot {
  region_ref region;             ///< the reference to send to readers
  std::span<std::byte> payload;  ///< region.size bytes
};

/// Thread-safe: HTTP threads take slots while actors give them back. A call takes O(log slots).
class slot_pool {
 public:
  /// `memory` is this process's registered pool; it outlives the pool's slots.
  slot_pool(node_id self, incarnation_id incarnation, registered_memory memory);

  /// A slot with room for `size` bytes, of undefined content; nothing if the pool is full or the machine has
  /// no memory left for it.
  std::optional<slot> take(uint64_t size);

  /// Frees the region's slot, which is stale for readers at once. False, without effect, if the region is not
  /// a slot in use: already given back, or of another owner.
  bool give_back(const region_ref& region);

  /// Slots taken from now on belong to a new incarnation of this process. Those in use stay until they are
  /// given back.
  void renew(incarnation_id incarnation);

  uint64_t capacity() const { return capacity_; }
  uint64_t in_use() const;   ///< bytes, with the words and the alignment
  uint64_t present() const;  ///< bytes of memory taken so far
  size_t slots() const;      ///< in use

 private:
  struct live_slot {
    incarnation_id owner;
    uint64_t offset = 0;
    uint64_t size = 0;  ///< of the payload
  };
  static uint64_t block_bytes(uint64_t size);
  bool is_live(const region_ref& region) const;
  void write_words(uint64_t offset, uint64_t size, uint64_t owner, uint64_t generation);
  void merge_free(uint64_t offset, uint64_t bytes);
  bool merge_kept();
  bool grow(uint64_t bytes);
  void add_free(uint64_t offset, uint64_t bytes);
  void remove_free(std::map<uint64_t, uint64_t>::iterator block);

  const node_id self_;
  const registered_memory memory_;
  uint64_t capacity_ = 0;

  mutable std::mutex mutex_;  // guards all below
  incarnation_id incarnation_;
  uint64_t last_generation_ = 0;
  uint64_t in_use_ = 0;
  uint64_t present_ = 0;                                  ///< the memory before this offset is taken
  std::map<uint64_t, uint64_t> free_;                     ///< offset -> bytes; neighbours are merged
  std::set<std::pair<uint64_t, uint64_t>> free_by_size_;  ///< (bytes, offset) of the same
  id_table<uint64_t, std::vector<uint64_t>> kept_;        ///< bytes -> offsets; free, too, but not merged
  id_table<uint64_t, live_slot> live_;                    ///< by generation
};

}  // namespace troupe
