#include "tools/lab/load_shape.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "policies/common/random.hpp"

namespace troupe::lab {

namespace {

/// About normal: the sum of twelve uniform draws.
double normal(random_stream& random) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += random.uniform();
  return sum;
}

}  // namespace

std::vector<load_change> changes_of(const changing_load& load, size_t models) {
  struct day {
    double phase, periods, drift = 0;
  };
  std::vector<day> days;
  random_stream random{load.seed, "changing load"};
  for (size_t i = 0; i < models; ++i)  // the phases spread the peaks over the second half
    days.push_back({(0.5 + random.uniform()) * std::numbers::pi, 1 + 0.3 * random.uniform()});

  std::vector<load_change> out;
  for (duration at{}; at < load.length; at += load.step) {
    const double part = to_seconds(at) / to_seconds(load.length);
    // up and down again between one half and three quarters of the time
    const double rush = std::clamp(1 - std::abs(part - 0.625) / 0.125, 0.0, 1.0);
    load_change change{at, {}};
    for (auto& d : days) {
      d.drift = 0.8 * d.drift + 0.6 * load.noise * normal(random);  // keeps the standard deviation at `noise`
      const double wave = 1 + load.swing * std::sin(d.phase + 2 * std::numbers::pi * d.periods * part);
      change.scale.push_back(std::max(0.05, wave + d.drift) * (1 + (load.rush_times - 1) * rush));
    }
    out.push_back(std::move(change));
  }
  return out;
}

}  // namespace troupe::lab
