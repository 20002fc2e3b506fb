#include "policies/scaling/copy_plan.hpp"

#include <algorithm>
#include <optional>
#include <set>

namespace troupe {
namespace {

constexpr uint32_t planned_chunks = 32;  // of a transfer, for predictions

class model_copies {
 public:
  model_copies(const scaling_view& v, const scaling_view::model& m, const link_rates& rates,
               const std::vector<copy_target>& targets, const std::vector<uint64_t>& planned)
      : view_(v), model_(m), rates_(rates), planned_bytes_(planned) {
    for (const auto& t : targets)
      if (t.model == m.id && std::ranges::count(wanted_, t.node) == 0) wanted_.push_back(t.node);
  }

  void plan(copy_plan& out) {
    add_further_copies();
    std::vector<node_id> to_get;
    for (const auto n : wanted_)
      if (needs_source(n)) to_get.push_back(n);
    if (!to_get.empty()) place(to_get, out);
    if (const auto node = droppable()) out.drops.push_back({*node, model_.id});
  }

 private:
  const image_state* image(node_id n) const {
    const auto* node = view_.find(n);
    return node == nullptr ? nullptr : node->image(model_.id);
  }
  bool has(node_id n) const {
    const auto* i = image(n);
    return i != nullptr && i->complete();
  }
  /// It has neither all images nor a living source of the rest.
  bool needs_source(node_id n) const {
    const auto* i = image(n);
    if (i == nullptr) return true;
    if (i->complete() || !i->problem.empty()) return false;
    return !i->filling || (i->from != n && image(i->from) == nullptr);
  }
  bool feeds(node_id n) const {
    return std::ranges::any_of(view_.nodes, [&](const auto& other) {
      const auto* i = other.image(model_.id);
      return other.id != n && i != nullptr && i->filling && !i->complete() && i->from == n;
    });
  }
  bool has_engine(node_id n) const {
    return std::ranges::any_of(view_.places, [&](const auto& p) {
      return p.node == n && p.model == model_.id && p.stage != instance_stage::idle;
    });
  }
  bool is_wanted(node_id n) const { return std::ranges::count(wanted_, n) > 0; }

  void add_further_copies() {
    std::set<node_id> holders(wanted_.begin(), wanted_.end());
    for (const auto& n : view_.nodes)
      if (const auto* i = n.image(model_.id); i != nullptr && i->problem.empty() && !n.leaving) {
        holders.insert(n.id);
        if (needs_source(n.id) && !is_wanted(n.id) && complete_copies() < view_.copies)
          wanted_.push_back(n.id);
      }
    std::erase_if(holders, [&](node_id n) { return view_.find(n) == nullptr || view_.find(n)->leaving; });
    while (holders.size() < view_.copies) {
      const auto next = emptiest_node(holders);
      if (!next) return;
      holders.insert(*next);
      wanted_.push_back(*next);
    }
  }
  uint32_t complete_copies() const {
    return static_cast<uint32_t>(
        std::ranges::count_if(view_.nodes, [&](const auto& n) { return n.has(model_.id) && !n.leaving; }));
  }
  /// Of those with a place of the model and room for it: the one with the smallest share of its capacity
  /// taken.
  std::optional<node_id> emptiest_node(const std::set<node_id>& others_than) const {
    std::optional<node_id> best;
    double least = 2;
    for (const auto& n : view_.nodes) {
      const bool has_place = std::ranges::any_of(
          view_.places, [&](const auto& p) { return p.node == n.id && p.model == model_.id && !p.unusable; });
      const auto taken = n.bytes() + planned_bytes_[n.id.value];
      if (!has_place || n.leaving || others_than.contains(n.id) || taken + model_.bytes > n.capacity)
        continue;
      if (const auto* i = n.image(model_.id); i != nullptr && !i->problem.empty()) continue;
      const auto share = static_cast<double>(taken) / static_cast<double>(n.capacity);
      if (share < least) best = n.id, least = share;
    }
    return best;
  }

  void place(const std::vector<node_id>& to_get, copy_plan& out) const {
    std::vector<node_id> sources, targets = to_get;
    for (const bool complete : {true, false})
      for (const auto& n : view_.nodes) {
        const auto* i = n.image(model_.id);
        if (i == nullptr || i->complete() != complete || std::ranges::count(to_get, n.id) > 0) continue;
        if (!feeds(n.id) && i->problem.empty()) sources.push_back(n.id);
      }
    // Nodes that have all come before those that still get a part.
    if (complete_copies() > 0)
      std::erase_if(sources, [&](node_id n) { return !has(n) && has_free_complete_source(); });
    if (sources.empty()) {  // nobody has them: one reads, the others follow it
      out.places.push_back({targets.front(), model_.id, targets.front()});
      sources.push_back(targets.front());
      targets.erase(targets.begin());
      if (targets.empty()) return;
    }
    add_chains(sources, targets, out);
  }
  bool has_free_complete_source() const {
    return std::ranges::any_of(view_.nodes, [&](const auto& n) { return n.has(model_.id) && !feeds(n.id); });
  }

  void add_chains(const std::vector<node_id>& sources, const std::vector<node_id>& targets,
                  copy_plan& out) const {
    multicast_problem p;
    p.bytes = static_cast<double>(model_.bytes);
    p.chunks = planned_chunks;
    p.sources = static_cast<uint32_t>(sources.size());
    p.domain_gbit_per_s = rates_.domain_gbit_per_s();
    std::vector<node_id> nodes = sources;
    nodes.insert(nodes.end(), targets.begin(), targets.end());
    for (const auto n : nodes)
      p.nodes.push_back({std::to_string(n.value), false, false, rates_.domain_of(n)});
    for (const auto from : nodes)
      for (const auto to : nodes) p.gbit_per_s.push_back(from == to ? 0 : rates_.between(from, to));
    const auto plan = plan_multicast(p);
    for (const auto& c : plan.chains) {
      auto from = c.source;
      for (const auto t : c.targets) {
        out.places.push_back({nodes[t], model_.id, nodes[from], plan.finish[t]});
        from = t;
      }
    }
    for (const auto& g : plan.groups)
      for (const auto f : g.followers)
        if (f >= p.sources) out.places.push_back({nodes[f], model_.id, nodes[g.leader], plan.finish[f]});
  }

  /// Images that are not needed: of a node that has them whole, or gets them no more.
  std::optional<node_id> droppable() const {
    const auto complete = complete_copies();
    std::optional<node_id> fullest;
    double most = -1;
    for (const auto& n : view_.nodes) {
      const auto* i = n.image(model_.id);
      if (i == nullptr || has_engine(n.id) || is_wanted(n.id) || feeds(n.id)) continue;
      if (i->complete() ? complete <= view_.copies && !n.leaving
                        : complete < view_.copies && i->problem.empty())
        continue;
      if (i->complete() && n.leaving && complete < view_.copies) continue;
      const auto share =
          static_cast<double>(n.bytes()) / static_cast<double>(std::max<uint64_t>(1, n.capacity));
      if (share > most) fullest = n.id, most = share;
    }
    return fullest;
  }

  const scaling_view& view_;
  const scaling_view::model& model_;
  const link_rates& rates_;
  const std::vector<uint64_t>& planned_bytes_;  ///< by node, that earlier models of this plan bring
  std::vector<node_id> wanted_;
};

}  // namespace

copy_plan plan_copies(const scaling_view& view, const std::vector<copy_target>& targets,
                      const link_rates& rates) {
  copy_plan out;
  std::vector<uint64_t> planned;  // bytes that this plan brings to each node
  for (const auto& n : view.nodes)
    if (n.id.value >= planned.size()) planned.resize(n.id.value + size_t{1});
  for (const auto& m : view.models) {
    if (m.bytes == 0) continue;
    const auto before = out.places.size();
    model_copies(view, m, rates, targets, planned).plan(out);
    for (auto i = before; i < out.places.size(); ++i) planned[out.places[i].node.value] += m.bytes;
  }
  return out;
}

}  // namespace troupe
