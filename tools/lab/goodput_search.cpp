#include "tools/lab/goodput_search.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace troupe::lab {

double highest_rate(const rate_search& how, const std::function<bool(double rate)>& served) {
  double good = 0, bad = 0;  // 0: unknown
  double step = 1.1, rate = std::clamp(how.guess, how.min, how.max);
  while (good == 0 || bad == 0) {
    (served(rate) ? good : bad) = rate;
    if (good >= how.max) return good;
    if (good == 0 && (bad <= how.min || bad < 1e-9)) return 0;
    if (good == 0 || bad == 0) {
      rate = std::clamp(good == 0 ? bad / step : good * step, how.min, how.max);
      step = std::min(step * step, 4.0);
    }
  }
  while (bad > good * (1 + how.precision)) {
    rate = std::sqrt(good * bad);
    (served(rate) ? good : bad) = rate;
  }
  return good;
}

uint32_t min_count(uint32_t guess, uint32_t max, const std::function<bool(uint32_t n)>& enough) {
  uint32_t few = 0, plenty = max + 1;  // the answer is in (few, plenty]
  uint32_t n = std::clamp(guess, 1u, max), step = 1;
  while (plenty - few > 1) {
    const bool is = enough(n);
    (is ? plenty : few) = n;
    if (plenty - few <= 1) break;
    if (is && few == 0) {
      n = n > step ? n - step : 1;
      step *= 2;
    } else if (!is && plenty == max + 1) {
      n = std::min(max, n + step);
      step *= 2;
    } else {
      n = few + (plenty - few) / 2;
    }
  }
  return plenty > max ? 0 : plenty;
}

}  // namespace troupe::lab
