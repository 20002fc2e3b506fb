#include "policies/workload/arrivals.hpp"

#include <array>
#include <cmath>

#include "policies/common/distributions.hpp"
#include "policies/common/time_math.hpp"

namespace troupe {
namespace {
constexpr std::array<std::string_view, arrival_kind_count> kind_names{"poisson", "constant", "gamma"};
}

std::string_view to_string(arrival_kind k) { return kind_names[static_cast<size_t>(k)]; }

bool parse_arrival_kind(std::string_view name, arrival_kind& out) {
  for (size_t i = 0; i < kind_names.size(); ++i) {
    if (kind_names[i] != name) continue;
    out = static_cast<arrival_kind>(i);
    return true;
  }
  return false;
}

arrival_process::arrival_process(const arrival_spec& spec, time_point start, random_stream random)
    : spec_(spec), random_(random), last_(start) {
  // random phase, so that constant processes of many models do not coincide
  if (spec_.kind == arrival_kind::constant) rounding_ = -random_.uniform() * 1e9 / spec_.rate;
}

time_point arrival_process::next() {
  const double exact = gap() + rounding_;
  const double whole = std::floor(exact);
  rounding_ = exact - whole;
  const auto left = static_cast<double>(saturating_difference(never, last_).count());
  return last_ = whole < left ? last_ + duration{static_cast<duration::rep>(whole)} : never;
}

double arrival_process::gap() {
  const double mean = 1e9 / spec_.rate;
  switch (spec_.kind) {
    case arrival_kind::constant: return mean;
    case arrival_kind::poisson: return exponential(random_, mean);
    case arrival_kind::gamma: {
      const double shape = 1 / (spec_.cv * spec_.cv);
      return gamma_variate(random_, shape, mean / shape);
    }
  }
  return mean;
}

}  // namespace troupe
