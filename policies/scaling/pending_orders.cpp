#include "policies/scaling/pending_orders.hpp"

#include <algorithm>

namespace troupe {
namespace {

using enum instance_stage;

bool is_active(instance_stage s) { return s == loading || s == serving; }

bool shows(const scaling_view::place& p, instance_stage to) {
  if (to == serving) return is_active(p.stage) || p.unusable;
  return to == idle ? p.stage == idle || p.stage == draining : !is_active(p.stage);
}

/// Room on the device is not free before the engine says so.
instance_stage stage_after(instance_stage now, instance_stage to) {
  if (to == serving) return now == idle ? loading : is_active(now) ? now : serving;
  return is_active(now) ? draining : now;
}

bool shows(const scaling_view::node& n, const copy_place& p) {
  const auto* i = n.image(p.model);
  return i != nullptr && (i->complete() || !i->problem.empty() || (i->filling && i->from == p.from));
}

}  // namespace

scaling_view pending_orders::expected(scaling_view v) {
  std::erase_if(stages_, [&](const auto& order) {
    const auto p = std::ranges::find(v.places, order.first, &scaling_view::place::engine);
    return p == v.places.end() || shows(*p, order.second);
  });
  std::erase_if(copies_, [&](const auto& order) {
    const auto& [at, what] = order;
    const auto* n = v.find(at.first);
    if (n != nullptr && are_model_files(at.second) && n->image(at.second) == nullptr) return true;
    return n == nullptr || (what.drop ? n->image(at.second) == nullptr : shows(*n, what.place));
  });

  for (auto& p : v.places)
    if (const auto order = stages_.find(p.engine); order != stages_.end())
      p.stage = stage_after(p.stage, order->second);
  for (auto& n : v.nodes)
    for (const auto& [at, what] : copies_) {
      if (at.first != n.id) continue;
      const auto model = at.second;
      auto i = std::ranges::find(n.images, model, &image_state::model);
      if (what.drop) {
        n.going.push_back(std::move(*i));
        n.images.erase(i);
        continue;
      }
      if (i == n.images.end()) {
        const auto m = std::ranges::find(v.models, model, &scaling_view::model::id);
        i = std::ranges::find_if(n.images, [&](const image_state& o) { return o.model > model; });
        i = n.images.insert(i, image_state{});
        i->model = model;
        i->bytes = m == v.models.end() ? 0 : m->bytes;
      }
      i->filling = true;
      i->from = what.place.from;
    }
  return v;
}

std::vector<stage_order> pending_orders::send(const std::vector<stage_order>& orders) {
  std::vector<stage_order> out;
  for (const auto& o : orders)
    if (stages_.emplace(o.engine, o.to).second) out.push_back(o);
  return out;
}

copy_plan pending_orders::send(const copy_plan& plan) {
  copy_plan out;
  for (const auto& p : plan.places) {
    const auto [at, first] = copies_.try_emplace({p.node, p.model}, copy_order{false, p});
    if (!first && at->second.drop) continue;
    at->second.place = p;
    out.places.push_back(p);
  }
  for (const auto& d : plan.drops)
    if (copies_.try_emplace({d.node, d.model}, copy_order{true, {}}).second) out.drops.push_back(d);
  return out;
}

std::vector<stage_order> pending_orders::stages() const {
  std::vector<stage_order> out;
  for (const auto& [engine, to] : stages_) out.push_back({engine, to});
  return out;
}

copy_plan pending_orders::copies() const {
  copy_plan out;
  for (const auto& [at, what] : copies_) {
    if (what.drop) out.drops.push_back({at.first, at.second});
    if (!what.drop) out.places.push_back(what.place);
  }
  return out;
}

}  // namespace troupe
