// Memory that holds images: the heap's, or an arena's that peers may pull from.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "gpu/common/aligned_bytes.hpp"

namespace troupe::llm {

/// Aligned to `image_alignment`, and given back with the last owner.
struct image_memory {
  std::span<std::byte> bytes;
  std::optional<uint64_t> offset;  ///< of the first byte, for pulls by peers; nothing: they cannot
  std::shared_ptr<void> owner;
  /// Takes pages of the machine for a part before it is written; false: it has none left. Empty: all are
  /// there.
  std::function<bool(std::span<std::byte>)> make_present = {};
};
/// Throws std::bad_alloc without enough memory.
using image_allocator = std::function<image_memory(uint64_t bytes)>;

inline image_memory heap_image_memory(uint64_t bytes) {
  auto owner = std::make_shared<aligned_bytes>(bytes);
  return {{owner->data(), owner->size()}, std::nullopt, owner, {}};
}

}  // namespace troupe::llm
