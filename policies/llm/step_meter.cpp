#include "policies/llm/step_meter.hpp"

namespace troupe::llm {
namespace {

constexpr double kept = 0.995;  // decay of a step's weight per later step: some hundreds count

}  // namespace

void step_meter::add(uint32_t decodes, uint32_t prompt_tokens, duration took) {
  if (took <= duration{}) return;
  const auto ns = static_cast<double>(took.count());
  fit_.scale(kept);
  // relative errors, so that short steps are fitted as well
  fit_.add({1, static_cast<double>(decodes), static_cast<double>(prompt_tokens)}, ns, 1 / (ns * ns));
  weight_ = weight_ * kept + 1;
  prompt_tokens_ = prompt_tokens_ * kept + prompt_tokens;
}

step_forecast step_meter::forecast() const {
  const auto ns = [](double x) { return duration(static_cast<duration::rep>(x + 0.5)); };
  const auto [fixed, decode, prefill] = fit_.solve();
  return {ns(fixed), ns(decode), ns(prefill)};
}

}  // namespace troupe::llm
