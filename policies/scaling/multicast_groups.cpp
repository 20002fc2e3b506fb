#include "policies/scaling/multicast_groups.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace troupe {
namespace {

std::vector<uint32_t> order_of_names(const std::vector<multicast_node>& nodes) {
  std::vector<uint32_t> by_name(nodes.size()), order(nodes.size());
  std::iota(by_name.begin(), by_name.end(), 0u);
  std::stable_sort(by_name.begin(), by_name.end(),
                   [&](uint32_t a, uint32_t b) { return nodes[a].name < nodes[b].name; });
  for (uint32_t i = 0; i < by_name.size(); ++i) order[by_name[i]] = i;
  return order;
}

/// Links of two members of a group to and from all nodes outside of it are equal.
bool alike(const grouped_multicast& g, const std::vector<uint32_t>& members, uint32_t a, uint32_t b) {
  for (uint32_t other = 0; other < g.problem.size(); ++other) {
    if (std::find(members.begin(), members.end(), other) != members.end()) continue;
    if (g.rate(other, a) != g.rate(other, b) || g.rate(a, other) != g.rate(b, other)) return false;
  }
  return true;
}

std::vector<uint32_t> distinct(const grouped_multicast& g, const std::vector<uint32_t>& members) {
  std::vector<uint32_t> out;
  for (const auto m : members)
    if (std::none_of(out.begin(), out.end(), [&](uint32_t o) { return alike(g, members, o, m); }))
      out.push_back(m);
  return out;
}

}  // namespace

grouped_multicast::grouped_multicast(const multicast_problem& p)
    : problem(p), order(order_of_names(p.nodes)) {
  for (uint32_t s = 0; s < p.sources; ++s) (p.nodes[s].busy ? pruned : sources).push_back(s);
  if (sources.empty()) {
    half_rate_source = true;
    sources.push_back(pruned.front());
    pruned.erase(pruned.begin());
  }

  std::map<uint32_t, uint32_t> holders;  // of domains
  for (uint32_t s = 0; s < p.sources; ++s)
    if (p.nodes[s].domain != no_scale_up_domain) holders.emplace(p.nodes[s].domain, s);
  std::vector<uint32_t> targets(p.size() - p.sources);
  std::iota(targets.begin(), targets.end(), p.sources);
  std::sort(targets.begin(), targets.end(), [&](uint32_t a, uint32_t b) { return order[a] < order[b]; });
  std::map<uint32_t, size_t> group_of, served_of;  // domains
  for (const auto t : targets) {
    const auto domain = p.nodes[t].domain;
    if (domain == no_scale_up_domain) {
      groups.push_back({{t}, {}});
    } else if (const auto holder = holders.find(domain); holder != holders.end()) {
      const auto [at, first] = served_of.try_emplace(domain, served.size());
      if (first) served.push_back({holder->second, {}});
      served[at->second].followers.push_back(t);
    } else {
      const auto [at, first] = group_of.try_emplace(domain, groups.size());
      if (first) groups.emplace_back();
      groups[at->second].members.push_back(t);
    }
  }
  for (auto& g : groups) g.leaders = distinct(*this, g.members);
}

double grouped_multicast::rate(uint32_t from, uint32_t to) const {
  const auto& n = problem.nodes;
  const bool half = n[from].half_rate || n[to].half_rate || (half_rate_source && from == sources[0]);
  return problem.rate(from, to) * (half ? 0.5 : 1);
}

void grouped_multicast::choose_leaders() {
  const auto best_from_a_source = [&](uint32_t leader) {
    double best = 0;
    for (const auto s : sources) best = std::max(best, rate(s, leader));
    return best;
  };
  for (auto& g : groups) {
    // The first of equals is the first by name.
    const auto leader = *std::max_element(g.leaders.begin(), g.leaders.end(), [&](uint32_t a, uint32_t b) {
      return best_from_a_source(a) < best_from_a_source(b);
    });
    g.leaders = {leader};
  }
}

}  // namespace troupe
