// Header of a data-lane frame: sender, receiver and type of the message.
#pragma once
#include <cstring>
#include <optional>
#include <span>

#include "messages/common/ids.hpp"

namespace troupe {

/// Precedes the Cap'n Proto segment of the message. Fixed, little-endian, 56 bytes: it is read before
/// anything else is trusted.
struct frame_header {
  static constexpr uint32_t expected_magic = 0x32505254;  // "TRP2"
  uint32_t magic = expected_magic;
  uint16_t type = 0;  ///< position in TROUPE_WIRE_MESSAGES
  uint16_t from_kind = 0;
  uint64_t from_incarnation = 0;
  uint64_t to_incarnation = 0;
  uint64_t secret = 0;  ///< of the receiver's incarnation, from its hello
  uint32_t from_node = 0;
  uint32_t from_index = 0;
  uint32_t to_node = 0;
  uint32_t to_index = 0;
  uint16_t to_kind = 0;
  uint16_t reserved[3] = {};

  address from() const {
    return {node_id{from_node}, incarnation_id{from_incarnation}, static_cast<role>(from_kind), from_index};
  }
  address to() const {
    return {node_id{to_node}, incarnation_id{to_incarnation}, static_cast<role>(to_kind), to_index};
  }
};
static_assert(sizeof(frame_header) == 56);

inline frame_header make_header(const address& from, const address& to, size_t type) {
  frame_header h;
  h.type = static_cast<uint16_t>(type);
  h.from_kind = static_cast<uint16_t>(from.kind);
  h.from_incarnation = from.incarnation.value;
  h.to_incarnation = to.incarnation.value;
  h.from_node = from.node.value;
  h.from_index = from.index;
  h.to_node = to.node.value;
  h.to_index = to.index;
  h.to_kind = static_cast<uint16_t>(to.kind);
  return h;
}

/// Nothing if the bytes are not a frame of this version.
inline std::optional<frame_header> read_header(std::span<const std::byte> frame) {
  frame_header h;
  if (frame.size() < sizeof h) return {};
  std::memcpy(&h, frame.data(), sizeof h);
  if (h.magic != frame_header::expected_magic || h.from_kind >= role_count || h.to_kind >= role_count)
    return {};
  return h;
}

}  // namespace troupe
