// XXH3, 64 bit: a checksum of large blocks against damage and mix-ups, not against attackers. Faster than
// memory.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace troupe {

uint64_t fast_hash(std::span<const std::byte> bytes);

/// The hash of bytes that come piece by piece.
class fast_hasher {
 public:
  fast_hasher();
  void add(std::span<const std::byte> bytes);
  uint64_t hash() const;

 private:
  alignas(64) std::array<std::byte, 640> state_;  ///< XXH3_state_t
};

}  // namespace troupe
