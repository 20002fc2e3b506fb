// FNV-1a, 64 bit (Fowler, Noll, Vo): a checksum against mix-ups, not against attackers.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace troupe {

inline constexpr uint64_t fnv_start = 0xcbf29ce484222325;

constexpr uint64_t fnv1a(std::span<const std::byte> bytes, uint64_t hash = fnv_start) {
  for (const std::byte b : bytes) hash = (hash ^ static_cast<uint8_t>(b)) * 0x100000001b3;
  return hash;
}

}  // namespace troupe
