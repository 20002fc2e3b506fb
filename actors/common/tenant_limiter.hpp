// tenant_limiter enforces the rate and concurrency limits of a node's tenants: one table for all of its
// gateways, which may run on different threads.
#pragma once
#include <mutex>

#include "policies/frontend/tenant_limits.hpp"

namespace troupe {

/// A thread-safe tenant_limits. Tenant 0 has no limits.
class tenant_limiter {
 public:
  explicit tenant_limiter(const std::vector<tenant_quota>& quotas) : limits_(quotas) {}

  tenant_limits::verdict admit(uint32_t tenant, time_point now) {
    if (tenant == 0) return {};
    std::lock_guard lock(mutex_);
    return limits_.admit(tenant, now);
  }
  void leave(uint32_t tenant) {
    if (tenant == 0) return;
    std::lock_guard lock(mutex_);
    limits_.leave(tenant);
  }
  std::vector<tenant_limits::counts> statistics() const {
    std::lock_guard lock(mutex_);
    return limits_.statistics();
  }

 private:
  mutable std::mutex mutex_;
  tenant_limits limits_;
};

}  // namespace troupe
