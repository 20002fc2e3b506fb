// Orders for copies that inventories do not show yet. Until they do, or for a while, decisions count them as
// carried out, so that the next decision does not contradict the last one.
#pragma once
#include <algorithm>
#include <map>
#include <utility>

#include "messages/common/time.hpp"
#include "policies/scaling/copy_plan.hpp"
#include "policies/scaling/scaling_view.hpp"

namespace troupe {

class pending_copies {
 public:
  /// An order that no inventory shows after this time is given again.
  static constexpr duration patience = 500ms;

  void place(const copy_place& p, time_point now) { orders_[{p.node, p.model}] = {true, p.from, now}; }
  void drop(const copy_drop& d, time_point now) { orders_[{d.node, d.model}] = {false, {}, now}; }
  /// The node has reported its images, or is gone.
  void on_inventory(const shard_inventory& i) {
    std::erase_if(orders_, [&](const auto& o) {
      if (o.first.first != i.node) return false;
      const auto found = std::ranges::find(i.images, o.first.second, &image_state::model);
      if (!o.second.places) return found == i.images.end();
      return found != i.images.end() && (found->complete() || !found->problem.empty() ||
                                         (found->filling && found->from == o.second.from));
    });
  }
  void forget(node_id node) {
    std::erase_if(orders_, [&](const auto& o) { return o.first.first == node; });
  }
  void clear() { orders_.clear(); }
  bool empty() const { return orders_.empty(); }
  /// When the oldest order is given again.
  time_point due_at() const {
    time_point out = never;
    for (const auto& [_, o] : orders_) out = std::min(out, o.at + patience);
    return out;
  }

  /// Changes a view as if the orders were carried out. `bytes`: of the model's images.
  void apply(scaling_view& v, time_point now) const {
    for (const auto& [key, o] : orders_) {
      const auto& [node, model] = key;
      const auto n = std::ranges::find(v.nodes, node, &scaling_view::node::id);
      if (n == v.nodes.end() || now >= o.at + patience) continue;
      const auto image = std::ranges::find(n->images, model, &image_state::model);
      if (!o.places) {
        if (image != n->images.end()) n->images.erase(image);
        continue;
      }
      auto& i = image != n->images.end() ? *image : n->images.emplace_back();
      i.model = model;
      const auto its = std::ranges::find(v.models, model, &scaling_view::model::id);
      if (i.bytes == 0 && its != v.models.end()) i.bytes = its->bytes;
      i.filling = true;
      i.from = o.from;
      i.problem.clear();
    }
  }

 private:
  struct order {
    bool places = false;
    node_id from;
    time_point at{};
  };
  std::map<std::pair<node_id, llm_id>, order> orders_;
};

}  // namespace troupe
