#include "policies/scaling/multicast_plan.hpp"

#include <algorithm>
#include <cmath>

#include "policies/scaling/chain_improvement.hpp"

namespace troupe {
namespace {

/// Chains that an exact search may examine: a few milliseconds.
constexpr uint64_t max_chains = 50'000;
/// Hops that the improvement of greedy chains may compute: half of a millisecond.
constexpr uint64_t max_hops = 40'000;

void finish_groups(const grouped_multicast& g, multicast_plan& plan) {
  const auto& p = g.problem;
  for (const auto& served : g.served) {
    for (const auto f : served.followers) plan.finish[f] = std::llround(p.domain_ns()) * 1ns;
    plan.groups.push_back(served);
  }
  for (const auto& chain : plan.chains) {
    chain_time time;
    auto tail = chain.source;
    for (const auto leader : chain.targets) {
      const auto group = std::find_if(g.groups.begin(), g.groups.end(), [&](const target_group& other) {
        return std::find(other.members.begin(), other.members.end(), leader) != other.members.end();
      });
      const double done = time.add_hop(p.chunk_ns(g.rate(tail, leader)), p.chunks);
      const group_finish finish(p, group->members.size(), done);
      multicast_group led{leader, {}};
      for (const auto m : group->members) {
        plan.finish[m] = (m == leader ? finish.leader : finish.followers) * 1ns;
        if (m != leader) led.followers.push_back(m);
      }
      if (!led.followers.empty()) plan.groups.push_back(std::move(led));
      tail = leader;
    }
  }
}

}  // namespace

multicast_plan plan_multicast(const multicast_problem& p, size_t exact_groups) {
  check(p);
  grouped_multicast all(p);
  auto led = all;
  led.choose_leaders();
  auto found = improved_chains(led, greedy_chains(led), max_hops);

  multicast_plan plan;
  plan.exact = all.groups.empty();
  if (!plan.exact && all.groups.size() <= std::min(exact_groups, max_exact_groups)) {
    plan.exact = chain_count(all) * all.sources.size() <= max_chains;
    if (plan.exact || chain_count(led) * led.sources.size() <= max_chains)
      found = exact_chains(plan.exact ? all : led, found);
  }

  plan.pruned = all.pruned;
  plan.half_rate_source = all.half_rate_source;
  plan.chains = std::move(found.chains);
  plan.finish.assign(p.size(), duration::max());
  std::fill_n(plan.finish.begin(), p.sources, duration{});
  finish_groups(all, plan);
  return plan;
}

}  // namespace troupe
