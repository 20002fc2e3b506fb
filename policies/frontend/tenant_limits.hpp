// Limits of each tenant on one gateway: requests a second with a burst, and requests in flight. Tenants are
// numbers, as in `request::tenant`; API keys are checked elsewhere.
#pragma once
#include <cstdint>
#include <vector>

#include "messages/common/time.hpp"

namespace troupe {

struct tenant_quota {
  double rate_rps = 0;       ///< requests a second; 0: unlimited
  double burst = 1;          ///< requests at once after a pause; at least 1
  uint32_t concurrency = 0;  ///< in flight; 0: unlimited
};

/// A token bucket, kept as the time at which it will be full: the virtual scheduling form of the generic cell
/// rate algorithm (ITU-T I.371), which needs no refill and has no rounding drift.
class token_bucket {
 public:
  token_bucket() = default;  ///< unlimited
  token_bucket(double rate_rps, double burst);

  /// Takes a token and returns zero; if there is none, returns the time until the next one.
  duration take(time_point now);

 private:
  duration interval_{};   // time between tokens
  duration tolerance_{};  // largest distance of `full_at_` from `now` at which a token is left
  time_point full_at_ = long_ago;
};

class tenant_limits {
 public:
  struct counts {
    uint64_t admitted = 0;
    uint64_t over_rate = 0;
    uint64_t over_concurrency = 0;
    uint64_t in_flight = 0;
  };
  struct verdict {
    bool admitted = true;
    duration retry_after{};         ///< if rejected: earliest time of a retry
    bool over_concurrency = false;  ///< rejected by `concurrency`; otherwise by the rate
  };

  /// By tenant number less one.
  explicit tenant_limits(const std::vector<tenant_quota>& quotas);

  /// Admits or rejects one request. An admitted request must `leave` later. Tenant 0 and unknown numbers are
  /// admitted and not counted. A rejection by `concurrency` takes no token.
  verdict admit(uint32_t tenant, time_point now);
  void leave(uint32_t tenant);

  /// By tenant number less one.
  const std::vector<counts>& statistics() const { return counts_; }

 private:
  struct account {
    token_bucket bucket;
    uint32_t concurrency = 0;
  };
  std::vector<account> accounts_;
  std::vector<counts> counts_;
};

}  // namespace troupe
