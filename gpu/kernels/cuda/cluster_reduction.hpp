// Reductions over all threads of a cluster, with the result in each: by shuffles within a warp, through
// shared memory between warps. For integers, so that the result does not depend on the order of additions.
#pragma once
#include "gpu/kernels/cuda/device_code.hpp"

namespace troupe::cuda {

/// All threads of the cluster must make the same calls.
template <class Thread, uint32_t Cluster, uint32_t Warps>
class cluster_reduction {
 public:
  static constexpr size_t shared_bytes = 4 * Warps * sizeof(uint64_t);

  /// Uses the first `shared_bytes` of the block's shared memory.
  TROUPE_DEVICE explicit cluster_reduction(Thread t) : t_(t), slots_(t.template shared<uint64_t>()) {}

  TROUPE_DEVICE uint64_t greatest(uint64_t x) {
    show(over_warp(x, max_of));
    x = 0;
    for (uint32_t i = t_.lane(); i < Cluster * Warps; i += 32) x = max_of(x, shown(i));
    return over_warp(x, max_of);
  }
  struct pair {
    uint64_t first, second;
  };
  /// Two sums with one wait.
  TROUPE_DEVICE pair sum(uint64_t x, uint64_t y) {
    show(over_warp(x, sum_of), over_warp(y, sum_of));
    x = y = 0;
    for (uint32_t i = t_.lane(); i < Cluster * Warps; i += 32) x += shown(i), y += shown(i, 1);
    return {over_warp(x, sum_of), over_warp(y, sum_of)};
  }
  struct parts {
    uint64_t before, mine, all;  ///< sums over the warps before this one, this warp, and all warps
  };
  TROUPE_DEVICE parts sums(uint64_t x) {
    const uint32_t warp = t_.block_rank_in_cluster() * Warps + t_.warp();
    const uint64_t mine = over_warp(x, sum_of);
    show(mine);
    uint64_t before = 0, all = 0;
    for (uint32_t i = t_.lane(); i < Cluster * Warps; i += 32) {
      const uint64_t other = shown(i);
      all += other;
      if (i < warp) before += other;
    }
    return {over_warp(before, sum_of), mine, over_warp(all, sum_of)};
  }
  /// The last call. After it this block may end, as the others have read its shared memory.
  TROUPE_DEVICE void finish() {
    t_.cluster_arrive_relaxed();
    t_.cluster_wait();
  }

 private:
  TROUPE_DEVICE static uint64_t max_of(uint64_t a, uint64_t b) { return a < b ? b : a; }
  TROUPE_DEVICE static uint64_t sum_of(uint64_t a, uint64_t b) { return a + b; }

  template <class Combine>
  TROUPE_DEVICE uint64_t over_warp(uint64_t x, Combine combine) const {
    TROUPE_UNROLL for (uint32_t mask = 16; mask > 0; mask /= 2) x = combine(x, t_.shuffle_xor(x, mask));
    return x;
  }
  /// Writes this warp's numbers for the others. Alternates between two sets of slots: the one of the call
  /// before the last is not read any more.
  TROUPE_DEVICE void show(uint64_t of_warp, uint64_t second = 0) {
    set_ = 1 - set_;
    if (t_.lane() == 0) {
      uint64_t* slot = slots_ + set_ * 2 * Warps + t_.warp();
      slot[0] = of_warp, slot[Warps] = second;
    }
    t_.cluster_sync();
  }
  TROUPE_DEVICE uint64_t shown(uint32_t warp, uint32_t which = 0) const {
    return t_.map_shared_rank(slots_ + (set_ * 2 + which) * Warps, warp / Warps)[warp % Warps];
  }

  Thread t_;
  uint64_t* slots_;
  uint32_t set_ = 0;  // set of slots of the last call
};

}  // namespace troupe::cuda
