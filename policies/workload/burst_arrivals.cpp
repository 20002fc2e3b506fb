#include "policies/workload/burst_arrivals.hpp"

#include <algorithm>
#include <cmath>

#include "policies/common/distributions.hpp"
#include "policies/common/time_math.hpp"

namespace troupe {
namespace {

double gamma_of(random_stream& random, double mean, double cv) {
  const double shape = 1 / (cv * cv);
  return gamma_variate(random, shape, mean / shape);
}

time_point later(time_point t, double nanoseconds) {
  const auto left = static_cast<double>(saturating_difference(never, t).count());
  return nanoseconds < left ? t + duration{static_cast<duration::rep>(nanoseconds)} : never;
}

}  // namespace

double burst_spec::rate() const {
  const double n = requests + 0.5;  // rounded up
  return n / ((n - 1) * to_seconds(gap) + to_seconds(pause));
}

burst_spec burst_spec::denser(double factor) const {
  constexpr double fewest = 10;
  burst_spec out = *this;
  out.requests = std::max(factor * requests, std::min(fewest, requests));
  const double more = out.requests / requests;
  out.gap = duration{std::llround(static_cast<double>(gap.count()) / more)};
  const double period = (out.requests + 0.5) / (factor * rate());
  if (more > factor) out.pause = from_ms(1000 * (period - (out.requests - 0.5) * to_seconds(out.gap)));
  return out;
}

burst_arrivals::burst_arrivals(const burst_spec& spec, time_point start, random_stream random)
    : spec_(spec), random_(random), next_(start) {
  begin_burst();
}

void burst_arrivals::begin_burst() {
  left_ =
      static_cast<uint64_t>(std::max(1.0, std::ceil(gamma_of(random_, spec_.requests, spec_.requests_cv))));
  const double s = spec_.gap_sigma;
  mean_gap_ = static_cast<double>(spec_.gap.count()) * std::exp(s * standard_normal(random_) - s * s / 2);
}

time_point burst_arrivals::next() {
  const auto at = next_;
  if (--left_ > 0) {
    next_ = later(at, exponential(random_, mean_gap_));
  } else {
    const auto shortest = static_cast<double>(spec_.min_pause.count());
    const auto mean = static_cast<double>(spec_.pause.count());
    const double beyond = mean - shortest;
    next_ = later(at, shortest + gamma_of(random_, beyond, spec_.pause_cv * mean / beyond));
    begin_burst();
  }
  return at;
}

}  // namespace troupe
