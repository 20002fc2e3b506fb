// Goodput (Symphony §2.1): the highest rate of requests of which at most a small fraction ends badly.
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "tools/lab/scenario.hpp"

namespace troupe::lab {

using engine = trial_result (*)(const trial& t, trial_watch* watch);
inline constexpr std::string_view engine_names[]{"direct", "actors"};
engine engine_of(size_t index);  ///< of `engine_names`

double bad_rate(const trial_result& r, criterion whose);

/// What one seed says.
struct goodput_sample {
  uint64_t seed = 0;
  double rate = 0;  ///< requests a second; 0: no rate at all is served well
  trial_result at;  ///< the run at that rate; of rate 0: empty
};
goodput_sample find_goodput(const scenario& s, const scheduling& how, engine run, uint64_t seed);

struct goodput_estimate {
  std::vector<goodput_sample> samples;  ///< by seed
  double precision = 0;                 ///< to which the search looked; 0: nothing was searched

  double rate() const;  ///< mean over the seeds, as are the others
  /// Of the rate, no less than the precision of it (sample_statistics.hpp). None of a single seed.
  std::optional<double> ci95() const;
  double bad_rate(criterion whose) const;
  double mean_batch() const;
  double busy() const;
};
/// All seeds of `s.search`, so many at a time as there are threads.
goodput_estimate estimate_goodput(const scenario& s, const scheduling& how, engine run, uint32_t threads);

}  // namespace troupe::lab
