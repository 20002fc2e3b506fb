// Goodput (Symphony §2.1): the highest rate with at most a small fraction of bad requests.
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "tools/lab/scenario.hpp"

namespace troupe::lab {

using engine = trial_result (*)(const trial& t, trial_watch* watch);
inline constexpr std::string_view engine_names[]{"direct", "actors"};
engine engine_of(size_t index);  ///< by index in `engine_names`

double bad_rate(const trial_result& r, criterion whose);

/// The result of one seed.
struct goodput_sample {
  uint64_t seed = 0;
  double rate = 0;  ///< requests a second; 0: no rate is served well
  trial_result at;  ///< the run at that rate; empty if the rate is 0
};
goodput_sample find_goodput(const scenario& s, const scheduling& how, engine run, uint64_t seed);

struct goodput_estimate {
  std::vector<goodput_sample> samples;  ///< by seed
  double precision = 0;                 ///< relative, of the search; 0: no search

  double rate() const;  ///< mean over the seeds, as are the following
  /// Of the rate, at least its precision (sample_statistics.hpp). None with a single seed.
  std::optional<double> ci95() const;
  double bad_rate(criterion whose) const;
  double mean_batch() const;
  double busy() const;
};
/// Runs all seeds of `s.search`, `threads` at a time.
goodput_estimate estimate_goodput(const scenario& s, const scheduling& how, engine run, uint32_t threads);

}  // namespace troupe::lab
