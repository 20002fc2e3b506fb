// What an experiment measures, one point and one seed at a time, and what the seeds of a point say together.
#pragma once
#include <vector>

#include "tools/lab/goodput.hpp"
#include "tools/lab/results.hpp"

namespace troupe::lab {

struct sample {
  double value = 0;  ///< requests a second, or GPUs
  trial_result at;
  std::vector<table> tables;
  std::map<std::string, double> metrics;  ///< that the run itself does not tell
};

sample take_sample(measure what, const scenario& s, const scheduling& how, engine run, uint64_t seed);

/// The metrics and tables of a point from the samples of all its seeds.
void summarise(const experiment& e, const scenario& s, const std::vector<sample>& samples, point& out);

}  // namespace troupe::lab
