#include "policies/scaling/copy_sources.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "policies/scaling/multicast_plan.hpp"

namespace troupe {
namespace {

constexpr uint32_t planned_chunks = 32;  // of a transfer, for predictions

/// Of the images that one node reads and others pull from it chunk by chunk; the slower of both has to deal
/// with all chunks, and the other one with one more.
duration behind(duration reading, duration pulling) {
  return std::max(reading + pulling / planned_chunks, pulling + reading / planned_chunks);
}

duration time_of(uint64_t bytes, double gbit_per_s) {
  return duration{gbit_per_s > 0 ? static_cast<int64_t>(static_cast<double>(bytes) * 8 / gbit_per_s) : 0};
}

}  // namespace

bool copy_sources::has(node_id n) const {
  const auto* found = view_.find(n);
  return found != nullptr && found->has(model_.id);
}

bool copy_sources::sends_other_models(node_id n) const {
  const auto found = sent_.find(n);
  return found != sent_.end() &&
         std::ranges::any_of(found->second, [&](weights_id m) { return m != model_.id; });
}

copy_place copy_sources::read(node_id node) const {
  return {node, model_.id, node, time_of(model_.bytes, rates_.disk_gbit_per_s(node))};
}

copy_place copy_sources::pulled(node_id to, node_id from, duration finish) const {
  return {to, model_.id, from, finish, are_model_files(model_.id) ? model_.bytes : 0};
}

std::vector<copy_place> copy_sources::chains(const std::vector<node_id>& sources,
                                             const std::vector<node_id>& targets, duration reading) const {
  multicast_problem p;
  p.bytes = static_cast<double>(model_.bytes);
  p.chunks = planned_chunks;
  p.sources = static_cast<uint32_t>(sources.size());
  p.domain_gbit_per_s = rates_.domain_gbit_per_s();
  auto nodes = sources;
  nodes.insert(nodes.end(), targets.begin(), targets.end());
  for (const auto n : nodes)  // names that keep the order, as they break ties
    p.nodes.push_back(
        {std::to_string(1'000'000 + p.nodes.size()), sends_other_models(n), false, rates_.domain_of(n)});
  for (const auto from : nodes)
    for (const auto to : nodes) p.gbit_per_s.push_back(from == to ? 0 : rates_.between(from, to));
  const auto plan = plan_multicast(p);
  const auto finish = [&](uint32_t to) {
    if (has(sources.front())) return plan.finish[to];
    return reading > duration{} ? behind(reading, plan.finish[to]) : duration{};
  };
  std::vector<copy_place> out;
  const auto add = [&](uint32_t to, uint32_t from) {
    out.push_back(pulled(nodes[to], nodes[from], finish(to)));
  };
  for (const auto& c : plan.chains) {
    auto from = c.source;
    for (const auto t : c.targets) add(t, std::exchange(from, t));
  }
  for (const auto& g : plan.groups) {  // a chain, too: the leader sends the bytes once
    auto from = g.leader;
    for (const auto f : g.followers)
      if (!p.is_source(f)) add(f, std::exchange(from, f));
  }
  return out;
}

/// Of the link between them, or of their scale-up domain, in Gbit/s.
double copy_sources::rate(node_id from, node_id to) const {
  return rates_.uses_links(from, to) ? rates_.between(from, to) : rates_.domain_gbit_per_s();
}

std::vector<copy_place> copy_sources::stars(const std::vector<node_id>& sources,
                                            const std::vector<node_id>& targets, duration reading) const {
  std::map<node_id, uint32_t> sent;  // copies of the images, those under way included
  for (const auto& n : view_.nodes)
    if (const auto* i = n.image(model_.id); i != nullptr && i->is_arriving() && i->from != n.id)
      ++sent[i->from];
  std::vector<copy_place> out;
  for (const auto to : targets) {
    const auto share = [&](node_id from) { return rate(from, to) / (sent[from] + 1); };
    const auto from = *std::ranges::max_element(sources, {}, share);
    ++sent[from];
    out.push_back(pulled(to, from, {}));
  }
  for (auto& p : out) {
    const auto alone = time_of(model_.bytes, rate(p.from, p.node) / sent[p.from]);
    if (has(p.from))
      p.finish = alone;
    else if (reading > duration{} && alone > duration{})
      p.finish = behind(reading, alone);
  }
  return out;
}

}  // namespace troupe
