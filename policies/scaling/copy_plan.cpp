#include "policies/scaling/copy_plan.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace troupe {
namespace {

constexpr uint32_t planned_chunks = 32;  // of a transfer, for predictions

/// Of the images that one node reads and others pull from it chunk by chunk; the slower of both has to deal
/// with all chunks, and the other one with one more.
duration behind(duration reading, duration chain) {
  return std::max(reading + chain / planned_chunks, chain + reading / planned_chunks);
}

/// Bytes of images on a node.
struct node_bytes {
  uint64_t taken = 0;     ///< by images that are there or are placed by this plan
  uint64_t promised = 0;  ///< those, and what waits for room
};
using bytes_of_nodes = std::map<node_id, node_bytes>;
/// The models whose images leave a node over its link.
using sent_models = std::map<node_id, std::set<weights_id>>;
using places_of_model = std::vector<const scaling_view::place*>;

class model_copies {
 public:
  model_copies(const scaling_view& v, const scaling_view::model& m, const link_rates& rates,
               const std::vector<copy_target>& targets, const places_of_model& places, bytes_of_nodes& bytes,
               sent_models& sent)
      : view_(v), model_(m), rates_(rates), places_(places), bytes_(bytes), sent_(sent) {
    for (const auto& t : targets)
      if (const auto* n = v.find(t.node); t.model == m.id && n != nullptr && !has_problem(*n))
        add_wanted(t.node);
    for (const auto& n : v.nodes)
      if (const auto* i = n.image(m.id); i != nullptr && i->is_arriving()) from_[n.id] = i->from;
  }

  void plan(copy_plan& out) {
    add_further_copies();
    const auto first = out.places.size();
    place(without_source(), out);
    for (auto i = first; i < out.places.size(); ++i) {
      const auto& p = out.places[i];
      from_[p.node] = p.from;
      if (rates_.uses_links(p.from, p.node)) sent_[p.from].insert(model_.id);
    }
    if (const auto n = droppable()) out.drops.push_back({*n, model_.id});
  }

 private:
  using node = scaling_view::node;

  const image_state* image(node_id n) const {
    const auto* found = view_.find(n);
    return found == nullptr ? nullptr : found->image(model_.id);
  }
  bool has_problem(const node& n) const {
    const auto* i = n.image(model_.id);
    return i != nullptr && !i->problem.empty();
  }
  bool has(node_id n) const {
    const auto* i = image(n);
    return i != nullptr && i->complete();
  }
  bool is_wanted(node_id n) const { return std::ranges::count(wanted_, n) > 0; }
  void add_wanted(node_id n) {
    if (!is_wanted(n)) wanted_.push_back(n);
  }

  bool can_read(node_id n) const {
    return !are_model_files(model_.id) || (image(n) != nullptr && image(n)->on_disk == model_.bytes);
  }

  /// All chunks are there or arrive: sources lead to complete images, or to a node that reads.
  bool is_supplied(node_id n) const {
    for (size_t steps = 0; steps <= view_.nodes.size(); ++steps) {  // more: a cycle
      const auto* i = image(n);
      if (i == nullptr || !i->problem.empty()) return false;
      if (i->complete()) return true;
      if (!i->filling) return false;
      if (i->from == n) return true;
      n = i->from;
    }
    return false;
  }
  /// Its chunks come over one of these nodes.
  bool follows(node_id n, const std::set<node_id>& any) const {
    std::set<node_id> passed;
    while (passed.insert(n).second) {
      const auto link = from_.find(n);
      if (link == from_.end()) return false;
      n = link->second;
      if (any.contains(n)) return true;
    }
    return false;
  }
  bool feeds(node_id n) const {
    return std::ranges::any_of(from_, [&](const auto& link) { return link.first != n && link.second == n; });
  }

  void add_further_copies() {
    std::set<node_id> holders;
    for (const auto& n : view_.nodes)
      if (!n.leaving && (n.has(model_.id) || is_wanted(n.id))) holders.insert(n.id);
    while (holders.size() < view_.copies) {
      const auto* next = best_further_node(holders);
      if (next == nullptr) return;
      holders.insert(next->id);
      wanted_.push_back(next->id);
      if (next->image(model_.id) == nullptr) bytes_[next->id].promised += model_.bytes;
    }
  }
  /// The one with the most chunks. Where there are none: of those with a place of the model and with room,
  /// the one with the smallest share of its capacity taken.
  const node* best_further_node(const std::set<node_id>& others_than) const {
    const node* best = nullptr;
    std::tuple<bool, int64_t, double> best_rank;
    for (const auto& n : view_.nodes) {
      if (n.leaving || has_problem(n) || others_than.contains(n.id)) continue;
      const auto* i = n.image(model_.id);
      if (i == nullptr && !has_place_and_room(n)) continue;
      const std::tuple rank(i == nullptr, i == nullptr ? 0 : -int64_t{i->ready}, share(n));
      if (best == nullptr || rank < best_rank) best = &n, best_rank = rank;
    }
    return best;
  }
  bool has_place_and_room(const node& n) const {
    return bytes_[n.id].promised + model_.bytes <= n.capacity &&
           std::ranges::any_of(places_, [&](const auto* p) { return p->node == n.id && !p->unusable; });
  }
  double share(const node& n) const {
    return static_cast<double>(bytes_[n.id].promised) /
           static_cast<double>(std::max<uint64_t>(1, n.capacity));
  }

  /// The wanted nodes that need a source and have room for what comes, those with the most chunks first.
  /// Nodes that follow them come along, so that none feeds both an old and a new follower.
  std::vector<node_id> without_source() {
    std::vector<node_id> out;
    for (const auto n : wanted_)
      if (!is_supplied(n) && take_room(*view_.find(n))) out.push_back(n);
    const std::set<node_id> first(out.begin(), out.end());
    for (const auto& [n, from] : from_)
      if (!is_wanted(n) && follows(n, first)) {
        out.push_back(n);
        wanted_.push_back(n);
      }
    const auto rank = [&](node_id n) {
      return std::pair(can_read(n), image(n) == nullptr ? 0 : image(n)->ready);
    };
    std::ranges::stable_sort(out, [&](node_id a, node_id b) { return rank(a) > rank(b); });
    return out;
  }
  bool take_room(const node& n) const {
    if (n.image(model_.id) != nullptr) return true;
    auto& taken = bytes_[n.id].taken;
    if (taken + model_.bytes > n.capacity || std::ranges::count(n.going, model_.id, &image_state::model) > 0)
      return false;
    taken += model_.bytes;
    return true;
  }

  void place(std::vector<node_id> targets, copy_plan& out) const {
    if (targets.empty()) return;
    auto sources = free_sources(true);
    if (sources.empty()) sources = free_sources(false);
    duration reading{};
    if (sources.empty()) {  // nobody has them: one reads, the others follow it
      const auto reader = targets.front();
      if (!can_read(reader)) return;
      reading = reading_time(reader);
      out.places.push_back({reader, model_.id, reader, reading});
      sources.push_back(reader);
      targets.erase(targets.begin());
    }
    if (!targets.empty()) add_chains(sources, targets, reading, out);
  }
  /// Of all images from the node's disk; 0: unknown.
  duration reading_time(node_id n) const {
    const auto rate = rates_.disk_gbit_per_s(n);
    return duration{rate > 0 ? static_cast<int64_t>(static_cast<double>(model_.bytes) * 8 / rate) : 0};
  }
  /// Nodes that feed no one, and have all or get it.
  std::vector<node_id> free_sources(bool complete) const {
    std::vector<node_id> out;
    for (const auto& n : view_.nodes)
      if (n.has(model_.id) == complete && is_supplied(n.id) && !feeds(n.id)) out.push_back(n.id);
    return out;
  }

  bool sends_other_models(node_id n) const {
    const auto found = sent_.find(n);
    return found != sent_.end() &&
           std::ranges::any_of(found->second, [&](weights_id m) { return m != model_.id; });
  }

  /// `reading`: time until the only source has read all images; 0: it does not read, or that is unknown.
  void add_chains(const std::vector<node_id>& sources, const std::vector<node_id>& targets, duration reading,
                  copy_plan& out) const {
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
    const auto add = [&](uint32_t to, uint32_t from) {
      out.places.push_back(
          {nodes[to], model_.id, nodes[from], finish(to), are_model_files(model_.id) ? model_.bytes : 0});
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
  }

  /// Images that are not needed; first where a target waits for room, then on the fullest node.
  std::optional<node_id> droppable() const {
    const auto needed = needed_nodes();
    std::optional<node_id> best;
    std::pair<bool, double> best_rank;
    for (const auto& n : view_.nodes) {
      const auto* i = n.image(model_.id);
      if (i == nullptr || needed.contains(n.id) || !view_.can_spare(n, model_.id) || has_engine(n.id))
        continue;
      if (!i->problem.empty() && is_short_of_instances()) continue;
      const std::pair rank(bytes_[n.id].promised > n.capacity, share(n));
      if (!best || rank > best_rank) best = n.id, best_rank = rank;
    }
    return best;
  }
  /// Wanted nodes, and those over which missing chunks come to them.
  std::set<node_id> needed_nodes() const {
    std::set<node_id> out;
    for (auto n : wanted_)
      while (out.insert(n).second)
        if (const auto link = from_.find(n); link != from_.end()) n = link->second;
    return out;
  }
  bool has_engine(node_id n) const {
    return std::ranges::any_of(
        places_, [&](const auto* p) { return p->node == n && p->stage != instance_stage::idle; });
  }
  bool is_short_of_instances() const {
    return std::ranges::count_if(places_, [&](const auto* p) { return view_.counts(*p); }) <
           int64_t{model_.wanted};
  }

  const scaling_view& view_;
  const scaling_view::model& model_;
  const link_rates& rates_;
  const places_of_model& places_;
  bytes_of_nodes& bytes_;
  sent_models& sent_;
  std::vector<node_id> wanted_;
  std::map<node_id, node_id> from_;  ///< sources of nodes that get images, those of this plan included
};

}  // namespace

copy_plan plan_copies(const scaling_view& view, const std::vector<copy_target>& targets,
                      const link_rates& rates) {
  bytes_of_nodes bytes;
  for (const auto& n : view.nodes) bytes[n.id].taken = bytes[n.id].promised = n.bytes() + n.bytes_going();
  std::set<std::pair<node_id, weights_id>> promised;
  for (const auto& t : targets)
    for (const auto& m : view.models)
      if (const auto* n = view.find(t.node); m.id == t.model && n != nullptr && n->image(m.id) == nullptr &&
                                             promised.emplace(t.node, t.model).second)
        bytes[t.node].promised += m.bytes;
  sent_models sent;
  for (const auto& n : view.nodes)
    for (const auto& i : n.images)
      if (i.is_arriving() && rates.uses_links(i.from, n.id)) sent[i.from].insert(i.model);
  std::map<weights_id, places_of_model> places;
  for (const auto& p : view.places) places[p.model].push_back(&p);
  copy_plan out;
  for (const auto& m : view.models)
    if (m.bytes > 0) model_copies(view, m, rates, targets, places[m.id], bytes, sent).plan(out);
  return out;
}

}  // namespace troupe
