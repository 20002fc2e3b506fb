// Validation of pulled regions. A reader pulls `pulled_bytes` from the region's offset and then calls
// `verify`. This is safe without asking the owner, for this reason: a slot begins and ends with two words,
// (owner incarnation, generation). The owner wipes them before it changes any byte between them, and a fabric
// reads them after all bytes between them. So if the words match the region, no byte of the payload had
// changed when it was read, however long the reader was suspended, and in whatever order its memcpy reads
// (glibc's reads both ends first: one plain copy of the whole slot would prove nothing).
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "messages/common/memory.hpp"

namespace troupe {

/// The words at each end of a slot. 16 bytes, which fabric::pull and pull_leased read last.
struct slot_words {
  uint64_t owner = 0;
  uint64_t generation = 0;
  bool operator==(const slot_words&) const = default;
};

/// Bytes from the start of a slot to the words at its end.
constexpr uint64_t slot_tail(uint64_t payload_bytes) {
  return sizeof(slot_words) + (payload_bytes + 7) / 8 * 8;
}

/// Number of bytes to pull from `region.offset` for a payload of `region.size` bytes.
constexpr uint64_t pulled_bytes(const region_ref& region) {
  return slot_tail(region.size) + sizeof(slot_words);
}

/// The payload within the pulled bytes. Nothing if the region was stale: its owner has reused the slot, or is
/// another incarnation.
inline std::optional<std::span<const std::byte>> verify(const region_ref& region,
                                                        std::span<const std::byte> pulled) {
  if (pulled.size() != pulled_bytes(region)) return std::nullopt;
  const slot_words expected{region.owner.value, region.generation};
  slot_words head, tail;
  std::memcpy(&head, pulled.data(), sizeof head);
  std::memcpy(&tail, pulled.data() + slot_tail(region.size), sizeof tail);
  if (!region || head != expected || tail != expected) return std::nullopt;
  return pulled.subspan(sizeof(slot_words), region.size);
}

}  // namespace troupe
