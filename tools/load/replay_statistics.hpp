// The running statistics of a replay, in real time or in virtual time.
#pragma once
#include <algorithm>
#include <mutex>

#include "tools/load/replay.hpp"

namespace troupe {

/// Thread-safe.
class replay_statistics {
 public:
  replay_statistics(const replay_options& o, time_point from) : options_(o), start_(from) {
    report_.all.slo = o.slo;
    report_.interval = o.interval;
  }

  void sent(time_point due, time_point now) {
    std::lock_guard lock(mutex_);
    ++report_.all.sent;
    ++at(due).sent;
    report_.all.worst_lag = std::max(report_.all.worst_lag, now - due);
  }
  /// `error`: why it counts as failed; empty: it is complete.
  void ended(const std::string& model, const completion_times& times, const std::string& error,
             time_point now) {
    std::lock_guard lock(mutex_);
    report_.all.length = std::max(report_.all.length, now - start_);
    for (const auto t : times.tokens) ++at(t).tokens;
    if (const auto first = times.ttft()) at(times.tokens.front()).ttft.add(*first);
    auto& here = at(now);
    if (!error.empty()) {
      ++here.failed;
      report_.all.add_error(error);
      return;
    }
    ++here.completed;
    here.good += report_.all.slo.met_by(times);
    report_.all.add(model, times);
  }
  /// Call when all requests have ended.
  replay_report close(const llm_trace& of, uint64_t rows) {
    report_.format = of.format;
    report_.rows = rows;
    report_.without_answer = of.without_answer;
    uint64_t open = 0;
    for (auto& i : report_.series) {
      open += i.sent;
      open -= std::min(open, i.completed + i.failed);
      i.in_flight = open;
    }
    return std::move(report_);
  }
  time_point start() const { return start_; }

 private:
  replay_interval& at(time_point t) {
    const auto i = static_cast<size_t>(std::max<int64_t>(0, (t - start_) / options_.interval));
    if (i >= report_.series.size()) report_.series.resize(i + 1);
    return report_.series[i];
  }

  const replay_options& options_;
  const time_point start_;
  std::mutex mutex_;
  replay_report report_;
};

}  // namespace troupe
