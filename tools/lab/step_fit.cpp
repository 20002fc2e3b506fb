#include "tools/lab/step_fit.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "policies/common/nonnegative_fit.hpp"

namespace troupe {
namespace {

constexpr size_t terms = 8;

std::array<double, terms> features(const llm::step_shape& s) {
  return {1,
          static_cast<double>(s.prefill_tokens),
          static_cast<double>(s.prefill_context),
          static_cast<double>(s.decodes),
          static_cast<double>(s.decode_context),
          static_cast<double>(s.longest_context),
          static_cast<double>(s.adapter_rows),
          static_cast<double>(s.adapters)};
}

step_error errors_of(const llm::step_latency& fit, std::span<const step_sample> samples, bool held_out) {
  step_error out;
  size_t count = 0;
  for (const auto& s : samples) {
    if (s.held_out != held_out) continue;
    const double e = std::abs(relative_error(fit, s));
    out.mean += e;
    out.largest = std::max(out.largest, e);
    ++count;
  }
  if (count > 0) out.mean /= static_cast<double>(count);
  return out;
}

}  // namespace

step_fit fit_steps(std::span<const step_sample> samples) {
  nonnegative_fit<terms> fit;
  for (const auto& s : samples) {
    const auto ns = static_cast<double>(s.took.count());
    if (!s.held_out) fit.add(features(s.shape), ns, 1 / (ns * ns));
  }
  const auto x = fit.solve();
  using part = llm::step_latency::part;
  step_fit out;
  out.latency = {.fixed = part(x[0]),
                 .prefill_token = part(x[1]),
                 .prefill_context = part(x[2]),
                 .decode = part(x[3]),
                 .decode_context = part(x[4]),
                 .longest_context = part(x[5]),
                 .adapter_row = part(x[6]),
                 .adapter = part(x[7])};
  out.fitted = errors_of(out.latency, samples, false);
  out.held_out = errors_of(out.latency, samples, true);
  return out;
}

double relative_error(const llm::step_latency& fit, const step_sample& s) {
  const auto took = static_cast<double>(s.took.count());
  return (static_cast<double>(fit(s.shape).count()) - took) / took;
}

}  // namespace troupe
