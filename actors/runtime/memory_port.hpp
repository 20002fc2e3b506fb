// memory_port gives actors the slots of their node's registered pool, and pulls from the pools of peers. It
// hides the data lane and its threads from them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "actors/runtime/events.hpp"
#include "messages/common/memory.hpp"
#include "transport/fabric/pull_plan.hpp"

namespace troupe {

/// A slot of the own pool; the caller fills `payload`.
struct offer {
  region_ref region;
  std::span<std::byte> payload;
};

class memory_port {
 public:
  virtual ~memory_port() = default;
  /// Nothing when the pool is full.
  virtual std::optional<offer> take(uint64_t bytes) = 0;
  /// Makes the slot reusable. A region given back already is ignored.
  virtual void give_back(const region_ref& region) = 0;

  /// A buffer for a pull of `region`, with room for the check words around the payload.
  virtual std::vector<std::byte> pull_buffer(const region_ref& region) const = 0;
  /// Pulls; `pulled{token}` reaches `to` when it has ended. The buffer stays alive and unmoved until then.
  virtual void pull(const region_ref& region, std::span<std::byte> into, const address& to,
                    uint64_t token) = 0;
  /// Pulls ranges of memory of `lease.node` that the lease vouches for (transport/memory/leased_pull.hpp):
  /// the status is `stale` if the owner has given it back before all of them were read. Their memory stays
  /// alive and unmoved until then.
  virtual void pull_leased(const region_ref& lease, std::vector<pulled_range> ranges, const address& to,
                           uint64_t token) = 0;
  /// Pulls bytes of a peer's memory that no slot protects: the caller knows their hash. As the other `pull`,
  /// but other work comes first.
  virtual void pull(node_id peer, uint64_t offset, std::span<std::byte> into, const address& to,
                    uint64_t token) = 0;
  /// The payload within the pulled buffer; nothing if the owner has reused the slot since.
  virtual std::optional<std::span<const std::byte>> verify(const region_ref& region,
                                                           std::span<const std::byte> buffer) const = 0;
};

}  // namespace troupe
