// The measures of an experiment: one point and one seed at a time, and the summary of a point over its seeds.
#pragma once
#include <vector>

#include "tools/lab/goodput.hpp"
#include "tools/lab/results.hpp"

namespace troupe::lab {

struct sample {
  double value = 0;  ///< requests a second, or GPUs
  trial_result at;
  std::vector<table> tables;
  std::map<std::string, double> metrics;  ///< that are not part of the run's result
};

sample take_sample(measure what, const scenario& s, const scheduling& how, engine run, uint64_t seed);

/// The metrics and tables of a point from the samples of all its seeds.
void summarise(const experiment& e, const scenario& s, const std::vector<sample>& samples, point& out);

/// The means of all metrics; the tables of the first sample.
void summarise_means(const std::vector<sample>& samples, point& out);

}  // namespace troupe::lab
