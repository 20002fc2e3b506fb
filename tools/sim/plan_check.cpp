#include "tools/sim/plan_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "actors/runtime/actor.hpp"

namespace troupe::sim {

void plan_check::delivered(node_id at, const envelope& e) {
  auto& p = pools_[at];
  if (!p.filter.passes(e)) return;
  std::visit(overloaded{
                 [&](const shard_inventory& i) { learn(p, i); },
                 [&](const node_up& n) { p.up.add(n); },
                 [&](const node_down& n) {
                   p.up.remove(n);
                   if (!p.up.contains(n.node)) forget(p, n.node);
                 },
                 [&](const leadership& l) {
                   if (l.term == p.term) return;
                   p.term = l.term;
                   p.orders.clear();
                   std::erase_if(p.shards, [&](const auto& s) { return s.second.term < p.term; });
                 },
                 [&](const new_incarnation&) {
                   p.up.clear();
                   p.shards.clear();
                   p.orders.clear();
                 },
                 [](const auto&) {},
             },
             e.body);
}

void plan_check::learn(pool& p, shard_inventory inventory) {
  for (auto at = p.orders.begin(); at != p.orders.end();) {
    auto& [what, o] = *at;
    const auto i = std::ranges::find(inventory.images, what.first, &image_state::model);
    const bool there = i != inventory.images.end();
    o.shown =
        o.shown || (!o.drop && there && what.second == inventory.node && i->filling && i->from == o.from);
    const bool not_wanted = !there && are_model_files(what.first);
    const bool ended = o.drop ? !there : not_wanted || (there && (i->complete() || !i->problem.empty()));
    at = ended && what.second == inventory.node ? p.orders.erase(at) : std::next(at);
  }
  if (inventory.term >= p.term) p.shards[inventory.node] = std::move(inventory);
}

void plan_check::forget(pool& p, node_id node) {
  p.shards.erase(node);
  std::erase_if(p.orders, [&](const auto& given) { return given.first.second == node; });
}

plan_check::transfers plan_check::arriving(const pool& p, bool all) {
  transfers out;
  for (const auto& [node, s] : p.shards)
    for (const auto& i : s.images)
      if (i.is_arriving() && i.from != node) out[{i.model, node}] = i.from;
  for (const auto& [what, o] : p.orders) {
    if (o.shown && !all) continue;
    out.erase(what);
    if (!o.drop && o.from != what.second) out[what] = o.from;
  }
  return out;
}

bool plan_check::has(const pool& p, weights_id model, node_id node) {
  const auto s = p.shards.find(node);
  const auto o = p.orders.find({model, node});
  return s != p.shards.end() && (o == p.orders.end() || !o->second.drop) &&
         std::ranges::any_of(s->second.images,
                             [&](const image_state& i) { return i.model == model && i.complete(); });
}

void plan_check::sent(node_id by, std::span<const envelope> together) {
  const auto is_order = [](const envelope& e) {
    return e.from.kind == role::parameter_pool &&
           (std::holds_alternative<place_copy>(e.body) || std::holds_alternative<drop_copy>(e.body));
  };
  if (std::ranges::none_of(together, is_order)) return;
  auto& p = pools_[by];
  const auto before = arriving(p, false), ever_before = arriving(p, true);
  std::vector<std::pair<image, node_id>> placed;
  for (const auto& e : together) {
    if (!is_order(e)) continue;
    if (const auto* d = std::get_if<drop_copy>(&e.body)) {
      p.orders[{d->model, e.to.node}] = {.drop = true};
      continue;
    }
    const auto& o = std::get<place_copy>(e.body);
    const image what{o.model, e.to.node};
    const auto known = p.orders.find(what);
    if (known != p.orders.end() && !known->second.drop && known->second.from == o.from) continue;  // again
    p.orders[what] = {.from = o.from};
    placed.emplace_back(what, o.from);
  }
  const auto after = arriving(p, false), ever_after = arriving(p, true);
  const auto sends = [](const transfers& all, node_id n, auto&& counts) {
    return std::ranges::any_of(all, [&](const auto& t) { return t.second == n && counts(t.first); });
  };
  for (const auto& [what, source] : placed) {
    const auto from = source;
    const auto [model, to] = what;
    const bool follows_policy = !are_model_files(model);
    if (follows_policy && policy_ == scaling_policy::serverless && from != to)
      violations_.add("plan", fmt::format("node {} is to send model {} to node {}, which is to read its disk",
                                          from.value, model.value, to.value));
    if (!rates_.uses_links(from, to) || (follows_policy && policy_ == scaling_policy::blitz_network))
      continue;
    check_successors(after, what, from);
    const bool is_busy = sends(
        before, from, [&](const image& i) { return i.first != model && rates_.uses_links(from, i.second); });
    if (!is_busy || !has(p, model, from)) continue;
    for (const auto& [other, _] : p.shards)
      if (other != from && other != to && has(p, model, other) &&
          !sends(ever_before, other, [](const image&) { return true; }) &&
          !sends(ever_after, other, [&](const image& i) { return i.first != model; }))
        violations_.add("plan", fmt::format("node {} is to send model {} to node {} over a busy link, "
                                            "although node {} has it and a free link",
                                            from.value, model.value, to.value, other.value));
  }
}

void plan_check::check_successors(const transfers& after, const image& placed, node_id from) {
  for (const auto& [what, source] : after)
    if (source == from && what.first == placed.first && what.second != placed.second &&
        rates_.uses_links(from, what.second))
      violations_.add("plan",
                      fmt::format("node {} is to send model {} to both node {} and node {}", from.value,
                                  placed.first.value, what.second.value, placed.second.value));
}

}  // namespace troupe::sim
