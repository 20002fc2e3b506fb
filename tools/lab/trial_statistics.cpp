#include "tools/lab/trial_statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace troupe::lab {

trial_statistics::trial_statistics(const trial& t)
    : trial_(t), from_(time_point{} + t.warm_up), until_(time_point{} + t.length) {
  result_.models.resize(t.models.size());
  result_.busy.resize(t.slots);
  slots_.resize(t.slots);
  result_.measured = t.length - t.warm_up;
}

void trial_statistics::arrived(uint32_t model, time_point at) {
  ++result_.requests;
  if (measured(at)) ++result_.models[model].offered;
}

void trial_statistics::started(uint32_t model, uint32_t slot, time_point from, time_point until,
                               std::span<const queued_request> batch) {
  check(model, slot, from, until, batch);
  auto& statistics = slots_[slot];
  count_waits(statistics);
  statistics.until = until;
  result_.busy[slot] += within(from, until);
  if (measured(from)) {
    if (batch.size() >= result_.batches.size()) result_.batches.resize(batch.size() + 1);
    ++result_.batches[batch.size()];
  }
  const auto slo = trial_.models[model].slo;
  auto& m = result_.models[model];
  for (const auto& t : batch) {
    const auto arrival = t.deadline - slo;
    if (!is_good(model, t, until)) continue;
    ++m.good;
    statistics.waited.push_back(from - arrival);
  }
}

void trial_statistics::check(uint32_t model, uint32_t slot, time_point from, time_point until,
                             std::span<const queued_request> batch) const {
  const auto& m = trial_.models[model];
  const auto ms = [](time_point t) { return to_ms(t.time_since_epoch()); };
  uint32_t rows = 0;
  for (const auto& t : batch) {
    rows += t.rows;
    if (until + trial_.response > t.deadline)
      throw std::logic_error(fmt::format(
          "a batch of model '{}' ends at {} ms and is answered {} ms later, the deadline of a request "
          "in it is {} ms",
          m.name, ms(until), to_ms(trial_.response), ms(t.deadline)));
  }
  if (rows > m.max_rows)
    throw std::logic_error(fmt::format("a batch of model '{}' has {} rows, at most {} may run together",
                                       m.name, rows, m.max_rows));
  if (from < slots_[slot].until)
    throw std::logic_error(fmt::format("slot {} begins a batch at {} ms, its last one ends at {} ms", slot,
                                       ms(from), ms(slots_[slot].until)));
}

void trial_statistics::count_waits(slot_statistics& s) {
  for (const auto d : s.waited) result_.queueing.add(d);
  s.waited.clear();
}

trial_result trial_statistics::close() {
  for (auto& s : slots_) count_waits(s);
  return std::move(result_);
}

void trial_statistics::stopped(uint32_t model, uint32_t slot, time_point from, time_point until,
                               time_point at, std::span<const queued_request> batch) {
  ++result_.preempted;
  slots_[slot].until = at;
  slots_[slot].waited.clear();
  result_.busy[slot] -= within(from, until) - within(from, at);
  if (measured(from)) --result_.batches[batch.size()];
  for (const auto& t : batch)
    if (is_good(model, t, until)) --result_.models[model].good;
}

bool trial_statistics::is_good(uint32_t model, const queued_request& t, time_point until) const {
  return measured(t.deadline - trial_.models[model].slo) && until + trial_.response <= t.deadline;
}

duration trial_statistics::within(time_point from, time_point until) const {
  return std::max(duration{}, std::min(until, until_) - std::max(from, from_));
}

load_curve::load_curve(const std::vector<load_change>& changes, uint32_t model) : pieces_{{{}, {}, 1}} {
  for (const auto& c : changes) {
    const auto& last = pieces_.back();
    const auto drawn = static_cast<double>((c.at - last.at).count()) * last.scale;
    pieces_.push_back({c.at, last.drawn + duration{static_cast<int64_t>(drawn)}, c.scale[model]});
  }
}

duration load_curve::time_of(duration drawn) {
  while (current_ + 1 < pieces_.size() && pieces_[current_ + 1].drawn <= drawn) ++current_;
  const auto& p = pieces_[current_];
  const double rest = static_cast<double>((drawn - p.drawn).count()) / p.scale;
  return p.scale > 0 && rest < 1e18 ? p.at + duration{static_cast<int64_t>(rest)} : duration::max();
}

double trial_result::bad_rate() const {
  model_result all;
  for (const auto& m : models) {
    all.offered += m.offered;
    all.good += m.good;
  }
  return all.bad_rate();
}

double trial_result::worst_bad_rate() const {
  double worst = 0;
  for (const auto& m : models) worst = std::max(worst, m.bad_rate());
  return worst;
}

double trial_result::goodput() const {
  uint64_t good = 0;
  for (const auto& m : models) good += m.good;
  return static_cast<double>(good) / to_seconds(measured);
}

double trial_result::mean_batch() const {
  uint64_t count = 0, rows = 0;
  for (size_t n = 0; n < batches.size(); ++n) {
    count += batches[n];
    rows += n * batches[n];
  }
  return count == 0 ? 0 : static_cast<double>(rows) / static_cast<double>(count);
}

double trial_result::busy_share() const {
  const auto sum = std::accumulate(busy.begin(), busy.end(), duration{});
  return to_seconds(sum) / (to_seconds(measured) * static_cast<double>(busy.size()));
}

}  // namespace troupe::lab
