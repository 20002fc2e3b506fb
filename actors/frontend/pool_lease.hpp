// pool_lease holds a slot of a pool and gives it back, unless its request takes it over.
#pragma once
#include <utility>

#include "transport/memory/slot_pool.hpp"

namespace troupe {

/// Movable. The pool outlives it.
class pool_lease {
 public:
  pool_lease(slot_pool& pool, slot s) : pool_(&pool), slot_(s) {}
  ~pool_lease() {
    if (pool_ != nullptr) pool_->give_back(slot_.region);
  }
  pool_lease(pool_lease&& other) noexcept : pool_(std::exchange(other.pool_, nullptr)), slot_(other.slot_) {}
  pool_lease& operator=(pool_lease&&) = delete;

  const slot& held() const { return slot_; }
  /// The slot is given back by another.
  region_ref take_over() {
    pool_ = nullptr;
    return slot_.region;
  }

 private:
  slot_pool* pool_;
  slot slot_;
};

}  // namespace troupe
