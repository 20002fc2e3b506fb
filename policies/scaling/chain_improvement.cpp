#include "policies/scaling/chain_improvement.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <limits>
#include <span>

namespace troupe {
namespace {

using group_list = std::vector<uint32_t>;
using subchain = std::span<const uint32_t>;

struct chain_value {
  int64_t latest = 0, sum = 0;
  auto operator<=>(const chain_value&) const = default;
};
constexpr chain_value impossible_chain{std::numeric_limits<int64_t>::max(), 0};

/// A change of at most two chains, each into some parts of both.
struct chain_change {
  size_t a = 0, b = 0;
  std::array<subchain, 4> of_a{}, of_b{};
};

class improvement {
 public:
  improvement(const grouped_multicast& g, const found_chains& found, uint64_t hops)
      : g_(g), hops_left_(hops) {
    std::vector<bool> reached(g.groups.size());
    chains_.resize(g.sources.size());
    compute_chunk_times();
    for (const auto& c : found.chains)
      for (const auto t : c.targets) {
        const auto group = std::find_if(g.groups.begin(), g.groups.end(),
                                        [&](const target_group& other) { return other.leaders[0] == t; });
        const auto i = static_cast<uint32_t>(group - g.groups.begin());
        const auto s = std::find(g.sources.begin(), g.sources.end(), c.source) - g.sources.begin();
        chains_[static_cast<size_t>(s)].push_back(i);
        reached[i] = true;
      }
    for (size_t s = 0; s < chains_.size(); ++s) values_.push_back(value(s, {chains_[s]}));
    for (uint32_t i = 0; i < reached.size(); ++i)
      if (!reached[i]) missing_.push_back(i);
  }

  found_chains run() {
    while (hops_left_ > 0 && insert_one()) {
    }
    while (insert_anywhere()) {
    }
    while (hops_left_ > 0 && change_one()) {
    }
    found_chains out;
    out.groups = g_.groups.size() - missing_.size();
    for (size_t s = 0; s < chains_.size(); ++s) {
      out.latest_ns = std::max(out.latest_ns, values_[s].latest);
      out.sum_ns += values_[s].sum;
      if (chains_[s].empty()) continue;
      multicast_chain chain{g_.sources[s], {}};
      for (const auto i : chains_[s]) chain.targets.push_back(g_.groups[i].leaders[0]);
      out.chains.push_back(std::move(chain));
    }
    return out;
  }

 private:
  void compute_chunk_times() {
    std::vector<uint32_t> tails;
    for (const auto& group : g_.groups) tails.push_back(group.leaders[0]);
    tails.insert(tails.end(), g_.sources.begin(), g_.sources.end());
    for (const auto tail : tails)
      for (const auto& group : g_.groups) {
        const double rate = g_.rate(tail, group.leaders[0]);
        chunk_ns_.push_back(rate > 0 ? g_.problem.chunk_ns(rate) : 0);
      }
  }

  chain_value value(size_t source, std::initializer_list<subchain> parts) {
    const auto& p = g_.problem;
    chain_value v;
    chain_time time;
    size_t tail = g_.groups.size() + source;
    for (const auto& some : parts)
      for (const auto i : some) {
        hops_left_ -= hops_left_ > 0 ? 1 : 0;
        const double chunk_ns = chunk_ns_[tail * g_.groups.size() + i];
        if (chunk_ns <= 0) return impossible_chain;
        const group_finish f(p, g_.groups[i].members.size(), time.add_hop(chunk_ns, p.chunks));
        v.latest = std::max(v.latest, f.followers);
        v.sum += f.sum;
        tail = i;
      }
    return v;
  }

  /// Of all chains, with these values for two of them.
  chain_value total(size_t a, const chain_value& value_a, size_t b, const chain_value& value_b) const {
    chain_value v;
    for (size_t s = 0; s < values_.size(); ++s) {
      const auto& of = s == a ? value_a : s == b ? value_b : values_[s];
      if (of == impossible_chain) return impossible_chain;
      v.latest = std::max(v.latest, of.latest);
      v.sum += of.sum;
    }
    return v;
  }

  void set(size_t source, group_list groups) {
    chains_[source] = std::move(groups);
    values_[source] = value(source, {chains_[source]});
  }

  /// At the best place of all missing groups.
  bool insert_one() {
    auto best = impossible_chain;
    size_t which = 0, chain = 0, at = 0;
    for (size_t m = 0; m < missing_.size(); ++m)
      for (size_t s = 0; s < chains_.size(); ++s)
        for (size_t k = 0; k <= chains_[s].size(); ++k) {
          const subchain all(chains_[s]);
          const auto v = value(s, {all.first(k), subchain(&missing_[m], 1), all.subspan(k)});
          const auto t = total(s, v, s, v);
          if (t >= best) continue;
          best = t;
          which = m;
          chain = s;
          at = k;
        }
    if (best == impossible_chain) return false;
    auto longer = chains_[chain];
    longer.insert(longer.begin() + static_cast<ptrdiff_t>(at), missing_[which]);
    missing_.erase(missing_.begin() + static_cast<ptrdiff_t>(which));
    set(chain, std::move(longer));
    return true;
  }

  /// One missing group, at the first place that links allow.
  bool insert_anywhere() {
    const auto linked = [&](size_t from, uint32_t to) { return chunk_ns_[from * g_.groups.size() + to] > 0; };
    for (size_t m = 0; m < missing_.size(); ++m)
      for (size_t s = 0; s < chains_.size(); ++s)
        for (size_t k = 0; k <= chains_[s].size(); ++k) {
          const auto& chain = chains_[s];
          const auto group = missing_[m];
          if (!linked(k == 0 ? g_.groups.size() + s : chain[k - 1], group)) continue;
          if (k < chain.size() && !linked(group, chain[k])) continue;
          auto longer = chain;
          longer.insert(longer.begin() + static_cast<ptrdiff_t>(k), group);
          missing_.erase(missing_.begin() + static_cast<ptrdiff_t>(m));
          set(s, std::move(longer));
          return true;
        }
    return false;
  }

  void consider(const chain_change& c) {
    if (hops_left_ == 0) return;
    const auto [a0, a1, a2, a3] = c.of_a;
    const auto [b0, b1, b2, b3] = c.of_b;
    const auto value_a = value(c.a, {a0, a1, a2, a3});
    if (value_a == impossible_chain || value_a.latest > best_.latest) return;
    const auto t = total(c.a, value_a, c.b, c.a == c.b ? value_a : value(c.b, {b0, b1, b2, b3}));
    if (t >= best_) return;
    best_ = t;
    change_ = c;
    changed_ = true;
  }

  /// The best change, if it makes the plan better.
  bool change_one() {
    best_ = total(0, values_[0], 0, values_[0]);
    changed_ = false;
    for (size_t a = 0; a < chains_.size() && hops_left_ > 0; ++a)
      for (size_t b = 0; b < chains_.size() && hops_left_ > 0; ++b) {
        if (a < b) exchange_ends(a, b);
        move_parts(a, b);
      }
    if (!changed_) return false;
    const auto joined = [](const std::array<subchain, 4>& parts) {
      group_list out;
      for (const auto& p : parts) out.insert(out.end(), p.begin(), p.end());
      return out;
    };
    auto of_a = joined(change_.of_a), of_b = joined(change_.of_b);
    if (change_.a != change_.b) set(change_.b, std::move(of_b));
    set(change_.a, std::move(of_a));
    return true;
  }

  void exchange_ends(size_t a, size_t b) {
    const subchain of_a(chains_[a]), of_b(chains_[b]);
    for (size_t i = 0; i <= of_a.size(); ++i)
      for (size_t k = 0; k <= of_b.size(); ++k)
        consider({a, b, {of_a.first(i), of_b.subspan(k), {}, {}}, {of_b.first(k), of_a.subspan(i), {}, {}}});
  }

  void move_parts(size_t a, size_t b) {
    const subchain of_a(chains_[a]), of_b(chains_[b]);
    for (size_t i = 0; i < of_a.size(); ++i)
      for (size_t size = 1; i + size <= of_a.size(); ++size) {
        const auto before = of_a.first(i), moved = of_a.subspan(i, size), after = of_a.subspan(i + size);
        if (a != b) {
          for (size_t k = 0; k <= of_b.size(); ++k)
            consider({a, b, {before, after, {}, {}}, {of_b.first(k), moved, of_b.subspan(k), {}}});
          continue;
        }
        for (size_t k = 1; k <= after.size(); ++k)  // a move to the front moves what it passes to the back
          consider({a, a, {before, after.first(k), moved, after.subspan(k)}, {}});
      }
  }

  const grouped_multicast& g_;
  uint64_t hops_left_;
  std::vector<group_list> chains_;  ///< by source
  std::vector<chain_value> values_;
  std::vector<double> chunk_ns_;  ///< from each group's leader, then each source, to each group; 0: no link
  group_list missing_;
  chain_value best_;
  chain_change change_;
  bool changed_ = false;  ///< `change_` makes the plan better
};

}  // namespace

found_chains improved_chains(const grouped_multicast& g, const found_chains& found, uint64_t hops) {
  return improvement(g, found, hops).run();
}

}  // namespace troupe
