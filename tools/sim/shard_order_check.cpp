#include "tools/sim/shard_order_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "actors/runtime/actor.hpp"

namespace troupe::sim {

bool shard_order_check::accepts(shard& s, term_id term) {
  if (term < s.term) {
    ++old_orders_;
    return false;
  }
  s.term = term;
  return true;
}

void shard_order_check::delivered(node_id at, const envelope& e) {
  auto& s = shards_[at];
  if (!s.filter.passes(e)) return;
  std::visit(overloaded{
                 [&](const place_copy& o) {
                   if (!accepts(s, o.term)) return;
                   s.placed[o.model] = o.from;
                   s.named.emplace(o.model, o.from);
                 },
                 [&](const drop_copy& o) {
                   if (accepts(s, o.term)) s.placed.erase(o.model);
                 },
                 [&](const leadership& l) { s.term = std::max(s.term, l.term); },
                 [](const auto&) {},
             },
             e.body);
}

void shard_order_check::sent(node_id by, std::span<const envelope> together) {
  const auto found = shards_.find(by);
  if (found == shards_.end()) return;
  const auto& placed = found->second.placed;
  const auto named = std::exchange(found->second.named, {});
  for (const auto& e : together) {
    if (e.from.kind != role::parameter_shard) continue;
    if (const auto* b = std::get_if<begin_link>(&e.body)) {
      const auto order = placed.find(b->model);
      if ((order == placed.end() || order->second != b->from) && !named.contains({b->model, b->from}))
        violations_.add("term", fmt::format("node {} is to pull model {} from node {}, which no order of the "
                                            "latest term says",
                                            by.value, b->model.value, b->from.value));
    }
    if (const auto* i = std::get_if<shard_inventory>(&e.body)) {
      std::vector<weights_id> held, ordered;
      for (const auto& image : i->images)
        if (!are_model_files(image.model)) held.push_back(image.model);  // files: by the deployment log
      for (const auto& [model, _] : placed)
        if (!are_model_files(model)) ordered.push_back(model);
      if (held != ordered)
        violations_.add("term",
                        fmt::format("node {} has {} models in its inventory, not the {} that orders of "
                                    "the latest term have placed",
                                    by.value, held.size(), ordered.size()));
    }
  }
}

std::optional<node_id> shard_order_check::source(weights_id model, node_id at) const {
  const auto s = shards_.find(at);
  if (s == shards_.end()) return std::nullopt;
  const auto order = s->second.placed.find(model);
  return order == s->second.placed.end() ? std::nullopt : std::optional(order->second);
}

}  // namespace troupe::sim
