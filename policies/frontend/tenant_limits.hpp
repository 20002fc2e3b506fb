// What each tenant may ask of one gateway: so many requests a second with so much burst, so many in flight.
// Knows nothing of keys: tenants are numbers here, as `request::tenant`.
#pragma once
#include <cstdint>
#include <vector>

#include "messages/common/time.hpp"

namespace troupe {

struct tenant_quota {
  double rate_rps = 0;       ///< requests a second; 0: any
  double burst = 1;          ///< at least 1: so many at once after a pause
  uint32_t concurrency = 0;  ///< in flight; 0: any
};

/// A token bucket, kept as the one time at which it will be full (the virtual scheduling form of the generic
/// cell rate algorithm, ITU-T I.371): exact, and there is nothing to refill.
class token_bucket {
 public:
  token_bucket() = default;  ///< lets everything pass
  token_bucket(double rate_rps, double burst);

  /// Takes a token and gives zero; or takes none and says how long until there is one.
  duration take(time_point now);

 private:
  duration interval_{};   // a token comes every so often
  duration tolerance_{};  // how far ahead of `now` the bucket may be promised
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
    duration retry_after{};         ///< when refused: not earlier than that
    bool over_concurrency = false;  ///< refused for that; else for its rate
  };

  /// By tenant number less one.
  explicit tenant_limits(const std::vector<tenant_quota>& quotas);

  /// Asks for one request to be let in. Whoever is admitted must `leave` later. Tenant 0 and numbers that
  /// nobody has are admitted and not counted. What is refused for its concurrency costs no token.
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
