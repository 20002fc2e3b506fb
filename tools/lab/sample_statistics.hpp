// What a few samples say about the mean that they were drawn from.
#pragma once
#include <optional>
#include <span>
#include <vector>

namespace troupe::lab {

double mean(std::span<const double> samples);  ///< 0 of none

/// Half of the interval around the mean that contains the true one with a probability of 95 %, if samples are
/// drawn independently and their mean is about normal (Student's t). None of fewer than two. No less than the
/// fraction `precision` of the mean: samples that a search found are known no better than it looked.
std::optional<double> ci95(std::span<const double> samples, double precision = 0);

/// The sample below or at which a fraction q of them are. 0 of none.
double quantile(std::vector<double> samples, double q);

}  // namespace troupe::lab
