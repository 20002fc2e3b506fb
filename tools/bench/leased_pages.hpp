// Leased pulls of many pages between the two processes of `troupe bench fabric`, beside pulls of as many
// bytes in one piece.
#pragma once
#include <cstddef>
#include <functional>
#include <string>

#include "transport/fabric/fabric.hpp"
#include "transport/memory/slot_pool.hpp"

namespace troupe {

inline constexpr size_t leased_bytes = size_t{64} << 20;

/// The pages of the far side, and their lease. Allocates its second arena.
class leased_pages {
 public:
  leased_pages(fabric& via, const registered_memory& first_arena);
  /// For `page_puller`.
  const std::string& name() const { return name_; }

 private:
  slot_pool leases_;
  std::string name_;
};

/// Used by one thread at a time, not that of the fabric.
class page_puller {
 public:
  /// Allocates memory of the near side. `time` outlives it.
  page_puller(fabric& via, const clock& time);
  /// Before the first pull.
  void use(const std::string& pages_name);

  /// GB/s of pulls of all bytes, one after another, in the median: in pages of this size in random order
  /// under the lease, or in one piece.
  double leased_bandwidth(size_t page_bytes, int pulls);
  double whole_bandwidth(int pulls);
  /// Nanoseconds that a range adds to a pull, in the median: of as many as a plan may have, 16 bytes each.
  double range_cost(int pulls);

 private:
  /// Median seconds of pulls that `begin` begins.
  double seconds_of_pull(int pulls, const std::function<void(pull_done)>& begin);
  double leased_seconds(size_t count, size_t page_bytes, size_t stride, int pulls);

  fabric& fabric_;
  const clock& clock_;
  registered_memory into_;
  region_ref lease_;
  uint64_t pages_ = 0;  ///< their offset
};

}  // namespace troupe
