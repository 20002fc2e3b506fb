#include "tools/lab/flat_top.hpp"

#include <algorithm>
#include <limits>

namespace troupe::lab {

void add_flat_top(const experiment& e, std::vector<point>& points) {
  const auto load =
      std::find_if(e.axes.begin(), e.axes.end(), [](const auto& a) { return a.parameter == "rate_rps"; }) -
      e.axes.begin();
  if (e.what != measure::load || static_cast<size_t>(load) == e.axes.size()) return;
  const auto i = static_cast<size_t>(load);
  const auto same_curve = [&](const point& a, const point& b) {
    if (a.policy != b.policy || a.case_name != b.case_name) return false;
    for (size_t k = 0; k < e.axes.size(); ++k)
      if (k != i && a.at[k] != b.at[k]) return false;
    return true;
  };
  for (auto& p : points) {
    double peak = 0, too_much = std::numeric_limits<double>::infinity();
    for (const auto& q : points)
      if (same_curve(p, q) && q.at[i] && q.metrics.at("bad_rate") > 0.01)
        too_much = std::min(too_much, *q.at[i]);
    for (const auto& q : points)
      if (same_curve(p, q) && q.at[i] && *q.at[i] <= too_much)
        peak = std::max(peak, q.metrics.at("goodput_rps"));
    if (!p.at[i] || peak <= 0) continue;
    p.metrics["of_peak"] = p.metrics.at("goodput_rps") / peak;
    if (*p.at[i] <= peak) p.metrics["busy_off_load"] = p.metrics.at("gpu_busy") - *p.at[i] / peak;
  }
}

}  // namespace troupe::lab
