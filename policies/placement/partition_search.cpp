#include "policies/placement/partition_search.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

#include "policies/common/random.hpp"
#include "policies/placement/partition_arrangement.hpp"

namespace troupe {
namespace {

/// Counts the steps of a search and stops it when the budget is spent.
class step_budget {
 public:
  explicit step_budget(const search_budget& b) : budget_(b) {}
  bool spent() const { return over_ || done_ >= budget_.steps; }
  void step(uint64_t n = 1) {
    const auto before = done_;
    done_ += n;
    if (before / 4096 != done_ / 4096) ask();
  }
  /// Also to be called after long steps.
  void ask() { over_ = over_ || (budget_.should_stop && budget_.should_stop()); }
  uint64_t done() const { return done_; }

 private:
  const search_budget& budget_;
  uint64_t done_ = 0;
  bool over_ = false;
};

class searcher {
 public:
  searcher(const partition_problem& p, uint64_t seed, const search_budget& budget)
      : p_(p), random_(seed, "partition"), left_(budget) {}

  partition_result search() {
    std::vector<partition_arrangement> starts;
    const bool placed =
        std::any_of(p_.current.begin(), p_.current.end(), [](auto x) { return x != no_part; });
    for (const auto by_memory : {false, true}) {
      if (placed) starts.push_back(filled(by_memory, true));
      auto fresh = filled(by_memory, false);
      if (!placed || judge(p_, fresh.assignment()).cost <= p_.max_cost) starts.push_back(std::move(fresh));
    }
    std::optional<partition_arrangement> best;
    for (auto& a : starts) {
      descend(a);
      if (!best || a.now().better_than(best->now())) best.emplace(std::move(a));
    }
    improve(*best);
    return result(best->assignment());
  }

  partition_result random() {
    std::optional<partition_result> best, worst;
    std::vector<uint32_t> tried(p_.models.size());
    do {
      for (auto& part : tried) part = static_cast<uint32_t>(random_.below(p_.parts.size()));
      auto q = judge(p_, tried);
      left_.step();
      if (left_.done() % 64 == 0) left_.ask();
      auto& kept = q.feasible() ? best : worst;
      const auto of = [&](const partition_quality& x) { return q.feasible() ? x.objective : x.excess; };
      if (!kept || of(q) < of(kept->quality)) kept = partition_result{tried, std::move(q), {}, 0};
    } while (!left_.spent());
    return result((best ? best : worst)->assignment);
  }

 private:
  partition_result result(const std::vector<uint32_t>& assignment) const {
    partition_result r{assignment, judge(p_, assignment), {}, left_.done()};
    if (!r.quality.feasible())
      r.problem = "no partition within the limits was found; in the best one " + r.quality.broken;
    return r;
  }

  /// Greedy placement: the largest model first, each to the part with the best score.
  partition_arrangement filled(bool by_memory, bool from_current) {
    partition_arrangement a(p_);
    double rate = 0, bytes = 0;
    for (const auto& m : p_.models) {
      rate += m.rate;
      bytes += m.static_bytes;
    }
    std::vector<uint32_t> order(p_.models.size());
    std::iota(order.begin(), order.end(), 0);
    const auto weight = [&](uint32_t i) {
      const auto& m = p_.models[i];
      const auto r = rate > 0 ? m.rate / rate : 0, s = bytes > 0 ? m.static_bytes / bytes : 0;
      return by_memory ? m.static_bytes + m.dynamic_bytes : std::max(r, s);
    };
    std::stable_sort(order.begin(), order.end(), [&](auto x, auto y) { return weight(x) > weight(y); });
    const auto was = [&](uint32_t i) { return from_current ? p_.current[i] : no_part; };
    for (const auto i : order)
      if (was(i) != no_part) a.insert(i, was(i));
    for (const auto i : order) {
      if (was(i) != no_part) continue;
      uint32_t to = 0;
      partition_score best{};
      for (uint32_t j = 0; j < p_.parts.size(); ++j) {
        const auto s = a.after_insert(i, j);
        if (j > 0 && !s.better_than(best)) continue;
        best = s;
        to = j;
      }
      a.insert(i, to);
    }
    return a;
  }

  /// Applies the best move or swap of a hot part until none improves the score.
  void descend(partition_arrangement& a) {
    while (!left_.spent()) {
      best_ = a.now();
      found_ = false;
      for (const auto hot : a.hot())
        if (hot != no_part) look_around(a, hot);
      if (!found_) return;
      if (second_ == no_part)
        a.move(first_, to_);
      else
        a.swap(first_, second_);
    }
  }

  void look_around(const partition_arrangement& a, uint32_t hot) {
    for (uint32_t k = 0; k < p_.parts.size() && !left_.spent(); ++k) {
      if (k == hot) continue;
      for (const auto i : a.members(hot)) {
        consider_move(a, i, k);
        for (const auto other : a.members(k)) consider_swap(a, i, other);
      }
      for (const auto i : a.members(k)) consider_move(a, i, hot);
      left_.step((a.members(hot).size() + 1) * (a.members(k).size() + 1));
    }
  }

  void consider_move(const partition_arrangement& a, uint32_t model, uint32_t to) {
    const auto s = a.after_move(model, to);
    if (!s.better_than(best_) || !a.may_move(model, to)) return;
    note(s, model, no_part, to);
  }
  void consider_swap(const partition_arrangement& a, uint32_t x, uint32_t y) {
    const auto s = a.after_swap(x, y);
    if (!s.better_than(best_) || !a.may_swap(x, y)) return;
    note(s, x, y, no_part);
  }
  void note(const partition_score& s, uint32_t first, uint32_t second, uint32_t to) {
    best_ = s;
    found_ = true;
    first_ = first;
    second_ = second;
    to_ = to;
  }

  /// Iterated local search: perturb, descend, and continue from the result unless it is worse.
  void improve(partition_arrangement& best) {
    if (p_.parts.size() < 2 || p_.models.size() < 2) return;
    auto steady = best;
    while (!left_.spent()) {
      const auto reached = best.now();
      if (reached.excess == 0 && reached.objective < 1e-9) return;
      auto tried = steady;
      const auto before = left_.done();
      kick(tried);
      descend(tried);
      if (left_.done() == before) left_.step();  // without a change, too, the search must end
      if (tried.now().ends_better_than(best.now())) best = tried;
      if (!steady.now().better_than(tried.now())) steady = std::move(tried);
    }
  }

  /// A few random swaps and moves; a model that has left its current part returns there first.
  void kick(partition_arrangement& a) {
    const auto changes = 1 + random_.below(random_.below(8) == 0 ? 12 : 3);
    for (uint64_t n = 0; n < changes; ++n) {
      const auto i = static_cast<uint32_t>(random_.below(p_.models.size()));
      const auto was = p_.current.empty() ? no_part : p_.current[i];
      const auto other = static_cast<uint32_t>(random_.below(p_.models.size()));
      if (was != no_part && was != a.part_of(i)) {
        if (a.may_move(i, was)) a.move(i, was);
      } else if (random_.below(4) == 0) {
        const auto to = static_cast<uint32_t>(random_.below(p_.parts.size()));
        if (to != a.part_of(i) && a.may_move(i, to)) a.move(i, to);
      } else if (a.part_of(i) != a.part_of(other) && a.may_swap(i, other)) {
        a.swap(i, other);
      }
    }
  }

  const partition_problem& p_;
  random_stream random_;
  step_budget left_;
  partition_score best_;  ///< in this round of `descend`
  bool found_ = false;
  uint32_t first_ = 0, second_ = 0, to_ = 0;
};

partition_result refused(std::string why) { return {{}, {}, std::move(why), 0}; }

}  // namespace

partition_result search_partition(const partition_problem& p, uint64_t seed, const search_budget& budget) {
  if (auto why = impossible(p); !why.empty()) return refused(std::move(why));
  return searcher(p, seed, budget).search();
}

partition_result random_partition(const partition_problem& p, uint64_t seed, const search_budget& budget) {
  if (auto why = impossible(p); !why.empty()) return refused(std::move(why));
  return searcher(p, seed, budget).random();
}

}  // namespace troupe
