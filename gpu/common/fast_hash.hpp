// XXH3, 64 bit: a checksum of large blocks against damage and mix-ups, not against attackers. Faster than
// memory.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace troupe {

uint64_t fast_hash(std::span<const std::byte> bytes);

}  // namespace troupe
