#include <algorithm>

#include "policies/scaling/chain_search.hpp"

namespace troupe {

found_chains greedy_chains(const grouped_multicast& g) {
  struct open_chain {
    uint32_t tail;
    std::vector<uint32_t> targets;
    chain_time time;
  };
  std::vector<open_chain> open;
  for (const auto s : g.sources) open.push_back({s, {}, {}});
  std::vector<const target_group*> waiting;
  for (const auto& group : g.groups) waiting.push_back(&group);

  found_chains found;
  while (!waiting.empty()) {
    double fastest = 0;
    open_chain* chain = nullptr;
    auto next = waiting.end();
    for (auto& c : open)
      for (auto w = waiting.begin(); w != waiting.end(); ++w) {
        const double rate = g.rate(c.tail, (*w)->leaders[0]);
        if (rate > fastest || (rate == fastest && rate > 0 && c.targets.size() < chain->targets.size())) {
          fastest = rate;
          chain = &c;
          next = w;
        }
      }
    if (chain == nullptr) break;  // no tail reaches what is left
    const auto& group = **next;
    chain->tail = group.leaders[0];
    chain->targets.push_back(chain->tail);
    const double done = chain->time.add_hop(g.problem.chunk_ns(fastest), g.problem.chunks);
    const group_finish finish(g.problem, group.members.size(), done);
    found.latest_ns = std::max(found.latest_ns, finish.followers);
    found.sum_ns += finish.sum;
    ++found.groups;
    waiting.erase(next);
  }
  for (size_t i = 0; i < open.size(); ++i)
    if (!open[i].targets.empty()) found.chains.push_back({g.sources[i], std::move(open[i].targets)});
  return found;
}

}  // namespace troupe
