#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "policies/scaling/chain_search.hpp"

namespace troupe {
namespace {

/// Some chains, over a set of groups.
struct candidate {
  int64_t latest = 0, sum = 0;
  std::array<int64_t, max_exact_groups> finishes{};  ///< by group
  /// Targets by their places among names, plus 1, each source's in the order of its chain, and 0 after them.
  std::vector<uint32_t> path;

  /// With equal further chains never worse than `other`, which is over the same groups.
  bool covers(const candidate& other) const {
    if (latest > other.latest || sum > other.sum) return false;
    return finishes != other.finishes ? finishes < other.finishes : path <= other.path;
  }
  bool operator<(const candidate& other) const {
    if (latest != other.latest) return latest < other.latest;
    if (sum != other.sum) return sum < other.sum;
    return finishes != other.finishes ? finishes < other.finishes : path < other.path;
  }
};

/// Candidates over the same groups, of which none covers another.
class front {
 public:
  void add(const candidate& c) {
    for (const auto& m : members_)
      if (m.covers(c)) return;
    std::erase_if(members_, [&](const candidate& m) { return c.covers(m); });
    members_.push_back(c);
  }
  const std::vector<candidate>& members() const { return members_; }

 private:
  std::vector<candidate> members_;
};

using group_set = uint32_t;  // a bit for each
using fronts = std::array<front, 1u << max_exact_groups>;

/// All chains of one source.
class chains_of_source {
 public:
  chains_of_source(const grouped_multicast& g, uint32_t source, int64_t latest, fronts& found)
      : g_(g), latest_(latest), found_(found) {
    extend(0, source, {}, {});
  }

 private:
  void extend(group_set done, uint32_t tail, const chain_time& time, const candidate& before) {
    auto ended = before;
    ended.path.push_back(0);
    found_[done].add(ended);
    for (size_t i = 0; i < g_.groups.size(); ++i) {
      if ((done >> i & 1) != 0) continue;
      for (const auto leader : g_.groups[i].leaders) {
        const double rate = g_.rate(tail, leader);
        if (rate <= 0) continue;
        auto t = time;
        const double at = t.add_hop(g_.problem.chunk_ns(rate), g_.problem.chunks);
        const group_finish finish(g_.problem, g_.groups[i].members.size(), at);
        if (finish.followers > latest_) continue;
        auto next = before;
        next.latest = std::max(next.latest, finish.followers);
        next.sum += finish.sum;
        next.finishes[i] = finish.leader;
        next.path.push_back(g_.order[leader] + 1);
        extend(done | 1u << i, leader, t, next);
      }
    }
  }

  const grouped_multicast& g_;
  const int64_t latest_;
  fronts& found_;
};

candidate joined(const candidate& a, const candidate& b) {
  auto out = a;
  out.latest = std::max(a.latest, b.latest);
  out.sum += b.sum;
  for (size_t i = 0; i < out.finishes.size(); ++i) out.finishes[i] += b.finishes[i];
  out.path.insert(out.path.end(), b.path.begin(), b.path.end());
  return out;
}

/// All combinations of the chains of some sources and of one more.
fronts joined(const fronts& some, const fronts& more, group_set all) {
  fronts out;
  for (group_set set = 0; set <= all; ++set)
    for (group_set part = set;; part = (part - 1) & set) {
      for (const auto& a : some[set & ~part].members())
        for (const auto& b : more[part].members()) out[set].add(joined(a, b));
      if (part == 0) break;
    }
  return out;
}

found_chains chains_of(const grouped_multicast& g, const candidate& best, size_t groups) {
  found_chains out{{}, groups, best.latest, best.sum};
  std::vector<uint32_t> by_name(g.order.size());
  for (uint32_t node = 0; node < g.order.size(); ++node) by_name[g.order[node]] = node;
  auto at = best.path.begin();
  for (const auto source : g.sources) {
    multicast_chain chain{source, {}};
    for (; *at != 0; ++at) chain.targets.push_back(by_name[*at - 1]);
    ++at;
    if (!chain.targets.empty()) out.chains.push_back(std::move(chain));
  }
  return out;
}

}  // namespace

uint64_t chain_count(const grouped_multicast& g) {
  // By number of groups in a chain, the number of ways to choose them and their leaders, in any order.
  std::vector<uint64_t> ways{1};
  for (const auto& group : g.groups) {
    ways.push_back(0);
    for (size_t k = ways.size() - 1; k > 0; --k) ways[k] += ways[k - 1] * group.leaders.size();
  }
  uint64_t count = 0, orders = 1;
  for (size_t k = 0; k < ways.size(); orders *= ++k) count += ways[k] * orders;
  return count;
}

found_chains exact_chains(const grouped_multicast& g, const found_chains& at_least) {
  const group_set all = (1u << g.groups.size()) - 1;
  const bool bounded = at_least.groups == g.groups.size();
  const int64_t latest = bounded ? at_least.latest_ns : std::numeric_limits<int64_t>::max();
  fronts best;
  best[0].add({});
  for (const auto source : g.sources) {
    fronts of_source;
    chains_of_source(g, source, latest, of_source);
    best = joined(best, of_source, all);
  }
  group_set reached = 0;
  for (group_set set = 0; set <= all; ++set) {
    if (best[set].members().empty()) continue;
    const auto more = std::popcount(set) - std::popcount(reached);
    const auto least = [&](group_set s) {
      return *std::min_element(best[s].members().begin(), best[s].members().end());
    };
    if (more > 0 || (more == 0 && least(set) < least(reached))) reached = set;
  }
  const auto& found = best[reached].members();
  return chains_of(g, *std::min_element(found.begin(), found.end()),
                   static_cast<size_t>(std::popcount(reached)));
}

}  // namespace troupe
