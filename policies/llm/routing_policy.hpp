// Which engine gets a request: the choice alone, by name. What engines have room for, who waits and who moves
// is the request_router's.
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
  uint32_t sequences = 0;    ///< that it has, with those on their way
  uint32_t adapters = 0;     ///< of these sequences
  bool has_adapter = false;  ///< the request's is in a slot, or soon
  bool unused_slot = false;  ///< one holds no adapter of these sequences
  bool free_slot = false;    ///< one holds nothing
};

class routing_policy {
 public:
  virtual ~routing_policy() = default;
  /// `loads`: not empty, ascending ids. The index of the chosen one.
  virtual size_t choose(bool with_adapter, std::span<const engine_load> loads) = 0;
};

/// punica: the fullest, among equals the highest id (Punica §5.1): others run empty and can be given back.
///
/// affinity: as punica, but a request joins its adapter where it is. One that is nowhere with room goes where
/// a slot is free, else where one is unused, else where the fewest adapters run. So a hot adapter spreads no
/// further than it must, and a cold one takes nobody's slot while there is another.
///
/// least_loaded: the emptiest, among equals the lowest id. round_robin: one after the other. Both to compare.
using routing_policy_factory = std::function<std::unique_ptr<routing_policy>()>;
registry<routing_policy_factory>& routing_policies();

}  // namespace troupe
