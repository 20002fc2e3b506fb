// The highest rate that is still served well: bisection over a function that only a run can tell.
#pragma once
#include <cstdint>
#include <functional>

namespace troupe::lab {

struct rate_search {
  double guess = 1;         ///< where to begin; > 0
  double precision = 0.01;  ///< the answer is at most this fraction below a rate that is not served well
  double min = 0;           ///< below it nothing is tried: the answer is then 0
  double max = 1e12;        ///< above it nothing is tried
};

/// The highest rate found for which `served(rate)`, where a lower rate is taken to be served if a higher one
/// is; 0 if not even about `least` is. Begins at the guess, goes up or down by growing steps until the answer
/// is between two tries, and then halves (in proportion) what is between them.
double highest_rate(const rate_search& how, const std::function<bool(double rate)>& served);

/// The least n in [1, most] for which `enough(n)`, where more are taken to be enough if fewer are; 0 if not
/// even `most` are. Begins at the guess.
uint32_t min_count(uint32_t guess, uint32_t max, const std::function<bool(uint32_t n)>& enough);

}  // namespace troupe::lab
