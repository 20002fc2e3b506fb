#include "tools/lab/timeline.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "policies/scaling/autoscale_advice.hpp"
#include "tools/lab/sample_statistics.hpp"

namespace troupe::lab {

namespace {

uint64_t sum(const std::vector<uint64_t>& xs) { return std::accumulate(xs.begin(), xs.end(), uint64_t{0}); }

}  // namespace

timeline::timeline(const trial& t, duration step) : step_(step), slots_(t.slots) {
  const auto n = static_cast<size_t>((t.length + step - duration{1}) / step);
  steps_.resize(std::max<size_t>(n, 1));
  for (auto& s : steps_) {
    s.served.resize(t.models.size());
    s.lost.resize(t.models.size());
    s.used.resize(t.slots);
  }
}

size_t timeline::step_of(duration at) const {
  return std::min(static_cast<size_t>(std::max(at, duration{}) / step_), steps_.size() - 1);
}

double timeline::busy_of(const step_statistics& s) const {
  return to_seconds(s.busy) / to_seconds(step_) / static_cast<double>(slots_);
}

void timeline::on_batch(const batch& b) {
  steps_[step_of(b.started)].served[b.model] += b.rows;
  for (auto i = step_of(b.started); i <= step_of(b.ends); ++i) {
    const auto from = std::max(b.started, step_ * static_cast<int64_t>(i));
    const auto to = std::min(b.ends, step_ * static_cast<int64_t>(i + 1));
    if (to <= from) continue;
    steps_[i].busy += to - from;
    steps_[i].used[b.slot] = true;
  }
}

void timeline::on_loss(const loss& l) { ++steps_[step_of(l.given_up)].lost[l.model]; }

std::vector<table> timeline::tables(const trial& t) const {
  const double seconds = to_seconds(step_);
  std::vector<table> out;
  table all{
      "", {"time_s", "offered_rps", "goodput_rps", "gpus_used", "gpus_busy", "advice_gpus", "bad_rate"}, {}};
  const auto advised = advice();
  for (size_t i = 0; i < steps_.size(); ++i) {
    const auto& s = steps_[i];
    const auto served = static_cast<double>(sum(s.served)), lost = static_cast<double>(sum(s.lost));
    const double bad = served + lost == 0 ? 0 : lost / (served + lost);
    all.rows.push_back({static_cast<double>(i) * seconds, (served + lost) / seconds, served / seconds,
                        static_cast<double>(std::count(s.used.begin(), s.used.end(), true)),
                        busy_of(s) * slots_, advised[i], bad});
  }
  out.push_back(std::move(all));
  for (size_t m = 0; m < t.models.size(); ++m) {
    table one{t.models[m].name, {"time_s", "goodput_rps", "lost_rps"}, {}};
    for (size_t i = 0; i < steps_.size(); ++i)
      one.rows.push_back({static_cast<double>(i) * seconds,
                          static_cast<double>(steps_[i].served[m]) / seconds,
                          static_cast<double>(steps_[i].lost[m]) / seconds});
    out.push_back(std::move(one));
  }
  return out;
}

double timeline::bad_rate_where_busy_below(double busy) const {
  uint64_t served = 0, lost = 0;
  for (const auto& s : steps_) {
    if (busy_of(s) >= busy) continue;
    served += sum(s.served);
    lost += sum(s.lost);
  }
  return served + lost == 0 ? 0 : static_cast<double>(lost) / static_cast<double>(served + lost);
}

std::vector<double> timeline::advice() const {
  autoscale_advice adviser{autoscale_parameters{}};
  time_point now{};
  adviser.add(now, {slots_, {}, 0, 0});
  std::vector<double> out;
  for (const auto& s : steps_)
    out.push_back(adviser.add(now += step_, {slots_, s.busy, sum(s.served), sum(s.lost)}).gpus);
  return out;
}

double timeline::used_over_busy_below(double busy) const {
  double used = 0, filled = 0;
  for (const auto& s : steps_) {
    if (busy_of(s) >= busy) continue;
    used += static_cast<double>(std::count(s.used.begin(), s.used.end(), true));
    filled += busy_of(s) * slots_;
  }
  return filled > 0 ? used / filled : 0;
}

double timeline::advice_follows_load() const {
  std::vector<double> wanted, load;
  const auto advised = advice();
  for (size_t i = autoscale_advice::samples; i < steps_.size(); ++i) {
    wanted.push_back(slots_ + advised[i]);
    load.push_back(static_cast<double>(sum(steps_[i].served) + sum(steps_[i].lost)));
  }
  const double mean_wanted = mean(wanted), mean_load = mean(load);
  double both = 0, one = 0, other = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const double x = wanted[i] - mean_wanted, y = load[i] - mean_load;
    both += x * y;
    one += x * x;
    other += y * y;
  }
  return one > 0 && other > 0 ? both / std::sqrt(one * other) : 0;
}

}  // namespace troupe::lab
