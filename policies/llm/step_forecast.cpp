#include "policies/llm/step_forecast.hpp"

#include <algorithm>

namespace troupe::llm {
namespace {

/// Forecasts of other nodes may hold any number.
double ns(duration d) { return std::max(0.0, static_cast<double>(d.count())); }

}  // namespace

duration prefill_time(uint64_t tokens, uint32_t chunk, uint32_t decodes, const step_forecast& steps) {
  constexpr duration longest = 24h;
  const auto count = tokens / chunk + (tokens % chunk > 0);
  const double a_step = ns(steps.fixed) + ns(steps.decode) * decodes;
  const double all = static_cast<double>(count) * a_step + static_cast<double>(tokens) * ns(steps.prefill);
  return duration(static_cast<duration::rep>(std::min(all, ns(longest))));
}

uint32_t sequences_within(duration tpot, double prompt_tokens, const step_forecast& steps) {
  constexpr uint32_t any = UINT32_MAX;
  const double fixed = ns(steps.fixed), decode = ns(steps.decode);
  if (tpot <= duration{} || fixed + decode == 0) return any;
  const double left = ns(tpot) - fixed - ns(steps.prefill) * prompt_tokens;
  if (decode == 0) return left >= 0 ? any : 1;
  return static_cast<uint32_t>(std::clamp(left / decode, 1.0, static_cast<double>(any)));
}

}  // namespace troupe::llm
