// Which engines of a language model hold which cached blocks, as they tell their router. It knows hashes only
// (policies/llm/prefix_hash.hpp); a wrong entry costs a computation that a better choice would have saved.
//
// A block is evicted before the one that it continues, so an engine that holds a block of a prompt holds
// those before it. A look-up therefore bisects, and reads few of the blocks of a long prompt.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace troupe::llm {

class prefix_index {
 public:
  /// Engines have positions below this number.
  explicit prefix_index(size_t engines);

  void add(size_t engine, uint64_t block);
  void remove(size_t engine, uint64_t block);
  /// Forgets all blocks of an engine. O(blocks of all engines).
  void clear(size_t engine);
  /// The number of different blocks.
  size_t blocks() const { return used_; }

  /// Number of the first blocks of the prompt that each engine holds; valid until the next call.
  std::span<const uint32_t> longest(std::span<const uint64_t> prompt);

 private:
  using word = uint64_t;
  static constexpr size_t word_bits = 64, none = SIZE_MAX;

  size_t capacity() const { return keys_.size(); }
  size_t slot_of(uint64_t block) const { return block & (capacity() - 1); }
  size_t find(uint64_t block) const;
  std::span<word> holders(size_t at) { return std::span(masks_).subspan(at * words_, words_); }
  bool empty(size_t at) const;
  void erase(size_t at);
  void grow();
  void split(std::span<const uint64_t> prompt, size_t first, size_t end);
  bool read(std::span<const uint64_t> prompt, size_t depth, std::span<word> into);

  const size_t engines_, words_;
  std::vector<uint64_t> keys_;  // linear probing; a slot without holders is empty
  std::vector<word> masks_;     // engines that hold the key, [capacity, words_]
  size_t used_ = 0;
  std::vector<uint32_t> depths_;
};

}  // namespace troupe::llm
