#include "policies/scaling/copy_plan.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace troupe {
namespace {

/// Bytes of images on a node.
struct node_bytes {
  uint64_t taken = 0;     ///< by images that are there, go, or are placed by this plan
  uint64_t promised = 0;  ///< those, and what waits for room
  uint64_t going = 0;
};
using bytes_of_nodes = std::map<node_id, node_bytes>;
/// Images that nodes are to get or keep.
using wanted_images = std::set<std::pair<node_id, weights_id>>;
using places_of_model = std::vector<const scaling_view::place*>;

class model_copies {
 public:
  model_copies(const scaling_view& v, const scaling_view::model& m, const link_rates& rates,
               const std::vector<copy_target>& targets, const wanted_images& all_targets,
               const places_of_model& places, bytes_of_nodes& bytes, sent_models& sent)
      : view_(v),
        model_(m),
        rates_(rates),
        all_targets_(all_targets),
        places_(places),
        bytes_(bytes),
        sent_(sent) {
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
    if (const auto n = droppable()) drop(*n, out);
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

  /// Policies hold for language models.
  bool follows_policy(scaling_policy p) const { return view_.policy == p && !are_model_files(model_.id); }
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
    while (holders.size() < view_.copies || follows_policy(scaling_policy::all_cache)) {
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
    const copy_sources from(view_, model_, rates_, sent_);
    if (follows_policy(scaling_policy::serverless)) {
      for (const auto n : targets) out.places.push_back(from.read(n));
      return;
    }
    const bool in_stars = follows_policy(scaling_policy::blitz_network);
    auto sources = in_stars ? roots(true) : free_sources(true);
    if (sources.empty()) sources = in_stars ? roots(false) : free_sources(false);
    duration reading{};
    if (sources.empty()) {  // nobody has them: one reads, the others follow it
      const auto reader = targets.front();
      if (!can_read(reader)) return;
      out.places.push_back(from.read(reader));
      reading = out.places.back().finish;
      sources.push_back(reader);
      targets.erase(targets.begin());
    }
    if (targets.empty()) return;
    const auto places =
        in_stars ? from.stars(sources, targets, reading) : from.chains(sources, targets, reading);
    out.places.insert(out.places.end(), places.begin(), places.end());
  }
  /// Nodes that have all, or read it.
  std::vector<node_id> roots(bool complete) const {
    std::vector<node_id> out;
    for (const auto& n : view_.nodes)
      if (const auto* i = n.image(model_.id);
          i != nullptr && i->problem.empty() && (complete ? i->complete() : i->filling && i->from == n.id))
        out.push_back(n.id);
    return out;
  }
  /// Nodes that feed no one, and have all or get it.
  std::vector<node_id> free_sources(bool complete) const {
    std::vector<node_id> out;
    for (const auto& n : view_.nodes)
      if (n.has(model_.id) == complete && is_supplied(n.id) && !feeds(n.id)) out.push_back(n.id);
    return out;
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
      if (stays(n, *i)) continue;
      const std::pair rank(is_short_of_room(n), share(n));
      if (!best || rank > best_rank) best = n.id, best_rank = rank;
    }
    return best;
  }
  /// Even without what goes already.
  bool is_short_of_room(const node& n) const {
    const auto& b = bytes_[n.id];
    return b.promised > n.capacity + b.going;
  }
  /// By the policy. With `all_cache` also images with a problem, which would be placed again at once.
  bool stays(const node& n, const image_state& i) const {
    if (follows_policy(scaling_policy::all_cache)) return !is_short_of_room(n);
    if (!follows_policy(scaling_policy::serverless) || !i.problem.empty()) return false;
    if (n.unused_for(model_.id) >= view_.keep) return false;
    return !is_short_of_room(n) || std::ranges::any_of(n.images, [&](const image_state& other) {
      return n.unused_for(other.model) > n.unused_for(model_.id) && could_go(n, other);
    });
  }
  /// And would make room.
  bool could_go(const node& n, const image_state& i) const {
    const auto m = i.model;
    return !are_model_files(m) && i.problem.empty() && i.bytes > 0 && !all_targets_.contains({n.id, m}) &&
           std::ranges::none_of(view_.places, [&](const scaling_view::place& p) {
             return p.node == n.id && p.model == m && p.stage != instance_stage::idle;
           });
  }
  void drop(node_id n, copy_plan& out) const {
    out.drops.push_back({n, model_.id});
    bytes_[n].going += image(n)->bytes;
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
  const wanted_images& all_targets_;
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
  for (const auto& n : view.nodes) {
    const auto all = n.bytes() + n.bytes_going();
    bytes[n.id] = {all, all, n.bytes_going()};
  }
  wanted_images wanted;
  for (const auto& t : targets)
    for (const auto& m : view.models)
      if (const auto* n = view.find(t.node); m.id == t.model && n != nullptr &&
                                             wanted.emplace(t.node, t.model).second &&
                                             n->image(m.id) == nullptr)
        bytes[t.node].promised += m.bytes;
  sent_models sent;
  for (const auto& n : view.nodes)
    for (const auto& i : n.images)
      if (i.is_arriving() && rates.uses_links(i.from, n.id)) sent[i.from].insert(i.model);
  std::map<weights_id, places_of_model> places;
  for (const auto& p : view.places) places[p.model].push_back(&p);
  copy_plan out;
  for (const auto& m : view.models)
    if (m.bytes > 0) model_copies(view, m, rates, targets, wanted, places[m.id], bytes, sent).plan(out);
  return out;
}

}  // namespace troupe
