#include "tools/lab/results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tools/lab/sample_statistics.hpp"

namespace troupe::lab {

namespace {

std::optional<size_t> axis_index(const experiment& e, const std::string& parameter) {
  for (size_t i = 0; i < e.axes.size(); ++i)
    if (e.axes[i].parameter == parameter) return i;
  return {};
}

/// The denominator of a ratio: the point like `p` except for the fields of the selector.
const point* partner(const selector& over, const experiment& e, const std::vector<point>& points,
                     const point& p) {
  for (const auto& q : points) {
    bool same =
        q.policy == over.policy.value_or(p.policy) && q.case_name == over.case_name.value_or(p.case_name);
    for (size_t i = 0; same && i < e.axes.size(); ++i) {
      const auto given = over.at.find(e.axes[i].parameter);
      same = given == over.at.end() ? q.at[i] == p.at[i] : q.at[i] == given->second;
    }
    if (same) return &q;
  }
  return nullptr;
}

/// NaN if the base is 0 or a value is not finite: no bound holds for it.
double ratio(double x, double base) { return std::isfinite(x) && std::isfinite(base) ? x / base : HUGE_VAL; }

struct claim_verdict {
  const point* what;
  double value;
};

std::vector<claim_verdict> values_of(const claim& c, const experiment& e, const std::vector<point>& points) {
  std::vector<claim_verdict> out;
  for (const auto& p : points) {
    if (!matches(c.of, e, p)) continue;
    const auto value = p.metrics.find(c.metric);
    if (value == p.metrics.end()) continue;
    if (!c.over) {
      out.push_back({&p, value->second});
      continue;
    }
    const auto* q = partner(*c.over, e, points, p);
    if (q == nullptr || q == &p) continue;
    const auto base = q->metrics.find(c.metric);
    if (base == q->metrics.end() || (base->second == 0 && value->second == 0)) continue;
    out.push_back({&p, ratio(value->second, base->second)});
  }
  return out;
}

std::string name_of(const point& p, const experiment& e) {
  std::string out = p.case_name;
  const auto add = [&](const std::string& part) { out += (out.empty() ? "" : ", ") + part; };
  for (size_t i = 0; i < e.axes.size(); ++i)
    if (p.at[i]) add(fmt::format("{} {}", e.axes[i].parameter, *p.at[i]));
  add(p.policy);
  return out;
}

}  // namespace

bool matches(const selector& s, const experiment& e, const point& p) {
  if (s.policy && *s.policy != p.policy) return false;
  if (s.case_name && *s.case_name != p.case_name) return false;
  return std::all_of(s.at.begin(), s.at.end(), [&](const auto& given) {
    const auto i = axis_index(e, given.first);
    return i && p.at[*i] == given.second;
  });
}

std::vector<claim_result> judge(const experiment& e, const std::vector<point>& points, bool quick) {
  std::vector<claim_result> out;
  for (const auto& c : e.claims) {
    claim_result r;
    r.what = c;
    r.checked = !quick || c.quick;
    std::vector<double> values;
    size_t kept = 0;
    for (const auto& [p, x] : values_of(c, e, points)) {
      values.push_back(std::isfinite(x) ? x : HUGE_VAL);  // NaN cannot be ordered
      if (std::isfinite(x) && x >= c.at_least.value_or(-HUGE_VAL) && x <= c.at_most.value_or(HUGE_VAL))
        ++kept;
      else
        r.exceptions.push_back(
            fmt::format("{}: {}", name_of(*p, e), std::isfinite(x) ? fmt::format("{:.3g}", x) : "endless"));
    }
    r.points = values.size();
    if (!values.empty()) {
      r.min = quantile(values, 0);
      r.median = quantile(values, 0.5);
      r.max = quantile(values, 1);
      r.kept = static_cast<double>(kept) / static_cast<double>(values.size());
      r.holds = r.kept >= c.points;
    }
    out.push_back(std::move(r));
  }
  return out;
}

bool results::all_claims_hold() const {
  return std::all_of(claims.begin(), claims.end(), [](const auto& c) { return c.matches_claim(); });
}

}  // namespace troupe::lab
