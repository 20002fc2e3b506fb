// Routing policies, by name: the choice among engines with room for a request. Room, queueing and migration
// are decided by the request_router.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "messages/common/ids.hpp"
#include "policies/common/registry.hpp"

namespace troupe {

/// An engine that has room for the request.
struct engine_load {
  engine_id id;
  uint32_t sequences = 0;    ///< placed there, including those on their way
  uint32_t adapters = 0;     ///< used by these sequences
  bool has_adapter = false;  ///< the request's adapter is in a slot, or being loaded
  bool unused_slot = false;  ///< a slot holds no adapter of these sequences
  bool free_slot = false;    ///< a slot is empty
  uint64_t to_compute = 0;   ///< tokens before the request's first one, its own included; for `prefix` only
};

class routing_policy {
 public:
  virtual ~routing_policy() = default;
  /// Returns an index into `loads`, which is not empty and has ascending ids.
  virtual size_t choose(bool with_adapter, std::span<const engine_load> loads) = 0;
};

/// punica: the fullest, among equals the highest id (Punica §5.1), so that other engines become idle and can
/// be released.
///
/// affinity: like punica, but a request joins its adapter. If no engine with room has the adapter, an engine
/// with a free slot is chosen, else one with an unused slot, else the one with the fewest adapters. So a hot
/// adapter spreads no further than necessary, and a cold one displaces none while another slot exists.
///
/// prefix: the engine that would compute the fewest tokens before the request's first one: those that wait
/// there, and those of its prompt that are not in the prefix cache. So a request joins its prefix until the
/// engine's queue costs more than the cache saves. Among about equals as affinity.
///
/// least_loaded: the emptiest, among equals the lowest id. round_robin: one after the other. Both for
/// comparison.
using routing_policy_factory = std::function<std::unique_ptr<routing_policy>()>;
registry<routing_policy_factory>& routing_policies();

}  // namespace troupe
