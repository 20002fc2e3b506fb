// Statistics of a few samples: mean, confidence interval, quantiles.
#pragma once
#include <optional>
#include <span>
#include <vector>

namespace troupe::lab {

double mean(std::span<const double> samples);  ///< 0 if empty

/// Half of the 95 % confidence interval of the mean, for independent samples and about normal means
/// (Student's t). None for fewer than two samples. At least the fraction `precision` of the mean: samples
/// from a search are no more precise than the search.
std::optional<double> ci95(std::span<const double> samples, double precision = 0);

/// The sample below or at which a fraction q of the samples lies. 0 if empty.
double quantile(std::vector<double> samples, double q);

}  // namespace troupe::lab
