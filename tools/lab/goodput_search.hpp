// Finds the highest rate that is still served well: bisection over an expensive predicate.
#pragma once
#include <cstdint>
#include <functional>

namespace troupe::lab {

struct rate_search {
  double guess = 1;         ///< first try; > 0
  double precision = 0.01;  ///< the answer is at most this fraction below a rate that is not served well
  double min = 0;           ///< lower rates are not tried: the answer is then 0
  double max = 1e12;        ///< higher rates are not tried
};

/// The highest rate found for which `served(rate)` holds; 0 if it does not hold at about `min`. Assumes that
/// `served` is monotonic. Begins at the guess, grows its steps up or down until the answer lies between two
/// tries, and then bisects geometrically.
double highest_rate(const rate_search& how, const std::function<bool(double rate)>& served);

/// The least n in [1, max] for which `enough(n)` holds; 0 if it does not hold for `max`. Assumes that
/// `enough` is monotonic. Begins at the guess.
uint32_t min_count(uint32_t guess, uint32_t max, const std::function<bool(uint32_t n)>& enough);

}  // namespace troupe::lab
