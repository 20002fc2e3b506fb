#include "tools/lab/timeline.hpp"

#include <algorithm>
#include <numeric>

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

double timeline::busy_of(const step_books& s) const {
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
  for (size_t i = 0; i < steps_.size(); ++i) {
    const auto& s = steps_[i];
    const auto served = static_cast<double>(sum(s.served)), lost = static_cast<double>(sum(s.lost));
    const double bad = served + lost == 0 ? 0 : lost / (served + lost);
    const double gpus = slots_, idle = 1 - busy_of(s);
    // more if more than 1 % is lost, else as many fewer as idle (§3.5)
    const double advice = bad > 0.01 ? (bad < 1 ? gpus * bad / (1 - bad) : gpus) : -gpus * idle;
    all.rows.push_back({static_cast<double>(i) * seconds, (served + lost) / seconds, served / seconds,
                        static_cast<double>(std::count(s.used.begin(), s.used.end(), true)),
                        busy_of(s) * gpus, advice, bad});
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

}  // namespace troupe::lab
