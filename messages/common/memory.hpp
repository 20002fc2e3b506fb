// References to registered memory that other processes may pull.
#pragma once
#include <cstdint>
#include <string_view>

#include "messages/common/ids.hpp"

namespace troupe {

enum class memory_kind : uint16_t { host, pinned, device };
inline constexpr size_t memory_kind_count = 3;
std::string_view to_string(memory_kind k);

/// The payload of one slot of a node's registered pool. A holder of the reference may pull it until it
/// acknowledges it. Pulled bytes are valid only if the generation words around them still match
/// (transport/memory/pull_check.hpp).
struct region_ref {
  node_id node;
  incarnation_id owner;
  memory_kind kind = memory_kind::host;
  uint64_t offset = 0;      ///< of the slot in the pool
  uint64_t size = 0;        ///< of the payload in bytes
  uint64_t generation = 0;  ///< of the slot; 0 = no region

  TROUPE_MESSAGE(region_ref, node, owner, kind, offset, size, generation)
  bool operator==(const region_ref&) const = default;
  explicit operator bool() const { return generation != 0; }
};

}  // namespace troupe
