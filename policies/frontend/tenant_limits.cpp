#include "policies/frontend/tenant_limits.hpp"

#include <algorithm>

namespace troupe {

token_bucket::token_bucket(double rate_rps, double burst) {
  if (rate_rps <= 0) return;
  interval_ = std::max(duration{1}, from_ms(1000 / rate_rps));
  tolerance_ = from_ms(1000 / rate_rps * (std::max(burst, 1.0) - 1));
}

duration token_bucket::take(time_point now) {
  const auto from = std::max(full_at_, now);
  if (from - now > tolerance_) return from - now - tolerance_;
  full_at_ = from + interval_;
  return duration{};
}

tenant_limits::tenant_limits(const std::vector<tenant_quota>& quotas) : counts_(quotas.size()) {
  for (const auto& q : quotas) accounts_.push_back({token_bucket(q.rate_rps, q.burst), q.concurrency});
}

tenant_limits::verdict tenant_limits::admit(uint32_t tenant, time_point now) {
  if (tenant == 0 || tenant > accounts_.size()) return {};
  auto& a = accounts_[tenant - 1];
  auto& c = counts_[tenant - 1];
  if (a.concurrency != 0 && c.in_flight >= a.concurrency) {
    ++c.over_concurrency;
    return {false, 1s, true};  // the end of a request is unknown; a second is a usual retry delay
  }
  if (const auto wait = a.bucket.take(now); wait > duration{}) {
    ++c.over_rate;
    return {false, wait};
  }
  ++c.admitted;
  ++c.in_flight;
  return {};
}

void tenant_limits::leave(uint32_t tenant) {
  if (tenant == 0 || tenant > accounts_.size()) return;
  auto& c = counts_[tenant - 1];
  c.in_flight -= c.in_flight > 0;
}

}  // namespace troupe
