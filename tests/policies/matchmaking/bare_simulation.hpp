// Symphony's scheduler without its actors: batching policies, one matchmaking policy and slots that take
// exactly as long as the latency model says, driven by the next event. Requests, batches and drops are kept
// for the tests to look at.
#pragma once
#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "policies/batching/batching.hpp"
#include "policies/common/distributions.hpp"
#include "policies/matchmaking/matchmaking.hpp"
#include "policies/registry/batchings.hpp"
#include "policies/registry/matchmakings.hpp"
#include "policies/workload/arrivals.hpp"

namespace troupe::test {

struct arriving {
  time_point at, deadline;
  uint32_t rows = 1;
};
/// The next request of a model, in order of arrival; none: no more.
using arrival_source = std::function<std::optional<arriving>()>;

struct executed_batch {
  uint32_t model, slot, rows;
  time_point granted_at, exec_at, finish;
  std::vector<queued_request> requests;
};

struct dropped_request {
  uint32_t model;
  time_point at;
  dropped_queued_request what;
};

class bare_simulation {
 public:
  explicit bare_simulation(std::string_view matchmaking = "lowest_id")
      : arbiter_(make_matchmaking(matchmaking)) {}

  void add_slot(time_point free_at = long_ago) { arbiter_->add_slot(slot_id{slots_++}, free_at); }
  void add_slots(uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) add_slot();
  }

  void add_model(std::string_view batching, std::string_view shedding, batching_parameters p,
                 arrival_source source) {
    auto next = source();
    models_.push_back({make_batching(batching, shedding, p), p, std::move(source), next});
  }

  /// Runs until nothing is left to happen. The ids of a model's requests are 1, 2, 3, ...
  void run() {
    while (true) {
      time_point next = arbiter_->wake_at();
      for (const auto& m : models_) {
        next = std::min(next, m.policy->wake_at());
        if (m.next) next = std::min(next, m.next->at);
      }
      if (next == never) return;
      step(now_ = std::max(now_, next));
    }
  }

  std::vector<executed_batch> batches;
  std::vector<dropped_request> drops;
  uint64_t arrived() const {
    uint64_t n = 0;
    for (const auto& m : models_) n += m.arrived;
    return n;
  }
  double bad_rate() const { return static_cast<double>(drops.size()) / static_cast<double>(arrived()); }

 private:
  struct model {
    std::unique_ptr<batching_policy> policy;
    batching_parameters parameters;
    arrival_source source;
    std::optional<arriving> next;
    uint64_t arrived = 0;
  };

  void step(time_point now) {
    for (uint32_t i = 0; i < models_.size(); ++i) {
      auto& m = models_[i];
      bool changed = m.policy->wake_at() <= now;
      for (; m.next && m.next->at <= now; m.next = m.source(), changed = true)
        m.policy->add({m.next->deadline, request_id{++m.arrived}, m.next->rows}, now);
      if (changed) offer(i, now);
    }
    matches_.clear();
    arbiter_->poll(now, matches_);
    for (const auto& granted : matches_) on_match(granted, now);
  }

  /// As `granted_gpu` in Figure 18: the batch is formed anew for the slot.
  void on_match(const match& granted, time_point now) {
    const uint32_t i = granted.model.value;
    auto& m = models_[i];
    m.policy->update(now, granted.free_at);
    const auto window = m.policy->window();
    auto free_at = std::max(now, granted.free_at);
    if (window.rows > 0) {
      free_at = window.exec_at + m.parameters.latency(window.rows);
      batches.push_back({i, granted.slot.value, window.rows, now, window.exec_at, free_at, {}});
      m.policy->take_batch(batches.back().requests);
    }
    arbiter_->occupy(granted.model, granted.slot, free_at);
    offer(i, now);
  }

  void offer(uint32_t i, time_point now) {
    auto& m = models_[i];
    m.policy->update(now, long_ago);
    const auto& window = m.policy->window();
    arbiter_->set_candidate(model_id{i}, window, m.parameters.network(window.rows));
    dropped_.clear();
    m.policy->take_dropped(dropped_);
    for (const auto& d : dropped_) drops.push_back({i, now, d});
  }

  std::unique_ptr<matchmaking_policy> arbiter_;
  std::vector<model> models_;
  uint32_t slots_ = 0;
  time_point now_ = long_ago;
  std::vector<match> matches_;
  std::vector<dropped_queued_request> dropped_;
};

/// Requests with deadline = arrival + slo, until `end`. `random` chooses the rows, 1 to `max_rows`.
inline arrival_source open_loop(const arrival_spec& spec, duration slo, time_point end, random_stream random,
                                uint32_t max_rows = 1) {
  return [process = arrival_process(spec, time_point{}, random), slo, end, random,
          max_rows]() mutable -> std::optional<arriving> {
    const auto at = process.next();
    if (at >= end) return {};
    return arriving{at, at + slo, 1 + static_cast<uint32_t>(random.below(max_rows))};
  };
}

/// Given requests.
inline arrival_source list_of(std::vector<arriving> requests) {
  return [requests = std::move(requests), i = size_t{0}]() mutable -> std::optional<arriving> {
    if (i == requests.size()) return {};
    return requests[i++];
  };
}

}  // namespace troupe::test
