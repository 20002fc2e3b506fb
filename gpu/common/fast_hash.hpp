// XXH3, 64 bit: a checksum of large blocks against damage and mix-ups, not against attackers. Faster than
// memory.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

struct XXH3_state_s;

namespace troupe {

uint64_t fast_hash(std::span<const std::byte> bytes);

/// The hash of bytes that come piece by piece.
class fast_hasher {
 public:
  fast_hasher();
  void add(std::span<const std::byte> bytes);
  uint64_t hash() const;

 private:
  struct free_state {
    void operator()(XXH3_state_s* s) const;
  };
  std::unique_ptr<XXH3_state_s, free_state> state_;
};

}  // namespace troupe
