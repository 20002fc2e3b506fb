#include "tests/policies/scaling/scaling_world.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>

namespace troupe {

scaling_world::scaling_world(uint64_t seed) : seed_(seed), random_(seed, "scaling world") {
  const auto nodes = 2 + chance(5), models = 1 + chance(4);
  copies_ = chance(3);
  ample_ = chance(2) == 0;
  domains_ = chance(5) == 0;
  random_stream policies(seed, "policies");
  constexpr scaling_policy all[]{scaling_policy::blitz_network, scaling_policy::all_cache,
                                 scaling_policy::serverless};
  if (policies.below(2) == 0) policy_ = all[policies.below(std::size(all))];
  if (policy_ == scaling_policy::serverless) copies_ = 0;
  if (policies.below(2) == 0) keep_ = 1h;
  for (uint32_t m = 0; m < models; ++m)
    models_.push_back({weights_id{m}, std::to_string(m), chance(nodes + 1), 1000 * (1 + chance(3))});
  cluster_spec cluster;
  uint32_t engines = 0;
  for (uint32_t n = 0; n < nodes; ++n) {
    node made;
    made.is = {node_id{n}, ample_ ? 100'000 : 1000 * (3 + chance(5)), ample_ ? 0 : chance(3), false, {}};
    for (const auto& m : models_) {
      made.broken.push_back(!ample_ && chance(10) == 0);
      if (chance(8) > 0) {
        made.engines.push_back({{engine_id{engines++}, m.id, node_id{n}}});
        made.engines.back().bad = !ample_ && chance(20) == 0;
      }
    }
    nodes_.push_back(std::move(made));
    cluster.nodes.emplace_back();
    cluster.nodes.back().name = std::to_string(n);
    const double rate = chance(2) == 0 ? 100 : 25;
    cluster.links.push_back({{cluster.nodes.back().name}, rate});
    if (domains_ && chance(2) == 0) {
      cluster.links.back().scale_up_domain = "fast";
      cluster.links.back().scale_up_gbit_per_s = 3600;
    }
  }
  rates_ = link_rates(cluster);
  for (auto& n : nodes_) send_report(n);
}

void scaling_world::expect(bool ok, const std::string& what) {
  if (!ok && violation_.empty()) violation_ = "seed " + std::to_string(seed_) + ": " + what;
}

image_state* scaling_world::image(node& n, weights_id m) {
  const auto found = std::ranges::find(n.is.images, m, &image_state::model);
  return found == n.is.images.end() ? nullptr : &*found;
}

void scaling_world::disturb() {
  auto& n = any_node();
  switch (chance(16)) {
    case 0:
      models_[chance(static_cast<uint32_t>(models_.size()))].wanted =
          chance(static_cast<uint32_t>(nodes_.size()) + 1);
      decide();
      break;
    case 1:
      if (chance(3) > 0) break;
      n.up ? die(n) : come_back(n);
      break;
    case 2:
      if (!n.up) come_back(n);
      break;
    case 3:
      if (chance(3) > 0) break;
      n.is.leaving = !n.is.leaving;
      decide();
      break;
    case 4:
      for (auto& e : n.engines) {
        e.place.sequences = chance(4);
        e.place.park_is_over = chance(3) == 0;
      }
      send_report(n);
      break;
    case 5:
      if (chance(10) == 0) repeat_orders();
      break;
    case 6:
    case 7:
    case 8: deliver_order(n); break;
    case 9:
    case 10:
    case 11: deliver_report(n); break;
    case 12:
      for (auto& e : n.engines) advance_engine(n, e, chance(2) == 0);
      break;
    default:
      if (!n.up || n.is.images.empty()) break;
      advance_image(n, n.is.images[chance(static_cast<uint32_t>(n.is.images.size()))]);
      break;
  }
}

void scaling_world::die(node& n) {
  n.up = false;
  n.is.images.clear();
  n.orders.clear();
  n.reports.clear();
  n.known.reset();
  for (auto& e : n.engines) {
    e.life = instance_lifecycle(true);
    e.place.stage = instance_stage::idle;
    e.place.unusable = false;
  }
  decide();
}

void scaling_world::come_back(node& n) {
  n.up = true;
  n.is.leaving = false;
  send_report(n);
}

void scaling_world::send_report(node& n) {
  if (!n.up) return;
  report r{n.is, {}};
  for (const auto& e : n.engines) r.places.push_back(e.place);
  n.reports.push_back(std::move(r));
}

bool scaling_world::deliver_report(node& n) {
  if (n.reports.empty()) return false;
  n.known = std::move(n.reports.front());
  n.reports.pop_front();
  decide();
  return true;
}

bool scaling_world::deliver_order(node& n) {
  if (n.orders.empty()) return false;
  const auto o = std::move(n.orders.front());
  n.orders.pop_front();
  if (o.place) on_place(n, *o.place);
  if (o.drop) std::erase_if(n.is.images, [&](const image_state& i) { return i.model == o.drop->model; });
  if (o.stage)
    for (auto& e : n.engines)
      if (e.place.engine == o.stage->engine) {
        e.life.order(o.stage->to);
        advance_engine(n, e, false);
      }
  send_report(n);
  check_rooms();
  return true;
}

void scaling_world::on_place(node& n, const copy_place& p) {
  auto* i = image(n, p.model);
  if (i == nullptr) {
    const auto at =
        std::ranges::find_if(n.is.images, [&](const image_state& o) { return o.model > p.model; });
    i = &*n.is.images.insert(at, image_state{p.model, 4, 0, false, {}});
    i->bytes = models_[p.model.value].bytes;
  }
  if (i->complete()) return;
  i->filling = true;
  i->from = p.from;
  i->bytes = models_[p.model.value].bytes;
  i->problem.clear();
}

bool scaling_world::advance_image(node& n, image_state& i) {
  if (!i.filling || i.complete()) return false;
  auto& source = nodes_[i.from.value];
  const auto* from = &source == &n ? nullptr : image(source, i.model);
  if (&source == &n && n.broken[i.model.value]) {
    i.filling = false;
    i.problem = "no checkpoint";
    i.bytes = 0;
  } else if (&source != &n && from == nullptr) {
    if (chance(2) == 0) return true;  // it is not noticed yet
    i.filling = false;
  } else if (&source != &n && from->ready <= i.ready) {
    return false;
  } else {
    ++i.ready;
    i.filling = !i.complete();
  }
  send_report(n);
  return true;
}

bool scaling_world::advance_engine(node& n, engine& e, bool empty) {
  if (!n.up) return false;
  const auto before = e.place;
  e.life.advance(empty);
  const auto* i = image(n, e.place.model);
  if (e.life.stage() == instance_stage::loading && e.bad) e.place.unusable = true;
  if (e.life.stage() == instance_stage::loading && !e.bad && i != nullptr && i->complete())
    e.life.on_loaded();
  e.place.stage = e.life.stage();
  if (e.place.stage == before.stage && e.place.unusable == before.unusable) return false;
  send_report(n);
  check_rooms();
  return true;
}

scaling_view scaling_world::reported() const {
  scaling_view v;
  v.models = models_;
  v.copies = copies_;
  v.policy = policy_;
  v.keep = keep_;
  for (const auto& n : nodes_) {
    if (!n.known) continue;
    v.nodes.push_back(n.known->node);
    v.nodes.back().leaving = n.is.leaving;
    for (const auto& i : n.known->node.images)
      v.nodes.back().unused[i.model] =
          std::chrono::minutes((7 * n.is.id.value + 11 * i.model.value + seed_) % 90);
    v.places.insert(v.places.end(), n.known->places.begin(), n.known->places.end());
  }
  return v;
}

bool scaling_world::decide() {
  const auto v = pending_.expected(reported());
  auto choice = choose_instances(v);
  std::vector<copy_target> targets;
  for (const auto e : choice.starting) {
    const auto p = std::ranges::find(v.places, e, &scaling_view::place::engine);
    targets.push_back({p->node, p->model});
  }
  const auto stages = pending_.send(choice.orders);
  const auto copies = pending_.send(plan_copies(v, targets, rates_));
  short_of_places_ = std::move(choice.short_of_places);
  post(stages, copies);
  check_orders(copies);
  return !stages.empty() || !copies.places.empty() || !copies.drops.empty();
}

void scaling_world::post(const std::vector<stage_order>& stages, const copy_plan& copies) {
  orders_ += stages.size() + copies.places.size() + copies.drops.size();
  for (const auto& p : copies.places) nodes_[p.node.value].orders.push_back({.place = p});
  for (const auto& d : copies.drops) nodes_[d.node.value].orders.push_back({.drop = d});
  for (const auto& s : stages)
    for (auto& n : nodes_)
      if (std::ranges::any_of(n.engines, [&](const engine& e) { return e.place.engine == s.engine; }))
        n.orders.push_back({.stage = s});
}

bool scaling_world::repeat_orders() {
  const auto stages = pending_.stages();
  const auto copies = pending_.copies();
  post(stages, copies);
  return !stages.empty() || !copies.places.empty() || !copies.drops.empty();
}

void scaling_world::check_orders(const copy_plan& sent) {
  for (const auto& d : sent.drops) {  // with this one, and those under way
    uint32_t left = 0;
    for (auto& n : nodes_) {
      const auto* i = image(n, d.model);
      const bool drops =
          std::ranges::any_of(n.orders, [&](const order& o) { return o.drop && o.drop->model == d.model; });
      if (n.up && !n.is.leaving && !drops && i != nullptr && i->complete()) ++left;
    }
    expect(left >= copies_, "a copy too few is left");
  }
  for (const auto& p : sent.places)
    expect(p.from == p.node || policy_ != scaling_policy::serverless, "a node pulls in place of reading");
  const auto v = pending_.expected(reported());
  for (const auto& p : sent.places) {
    const auto* source = v.find(p.from);
    const auto* i = source == nullptr ? nullptr : source->image(p.model);
    expect(policy_ != scaling_policy::blitz_network || (i != nullptr && (i->complete() || i->from == p.from)),
           "a node pulls from one that pulls");
  }
  for (const auto& m : models_)
    for (const auto& n : v.nodes) {
      uint32_t followers = 0;
      for (const auto& other : v.nodes) {
        const auto* i = other.image(m.id);
        const bool same_domain = rates_.domain_of(n.id) == rates_.domain_of(other.id) &&
                                 rates_.domain_of(n.id) != no_scale_up_domain;
        if (i != nullptr && !i->complete() && i->filling && i->from == n.id && other.id != n.id &&
            !same_domain)
          ++followers;
      }
      // A repeated order that arrives late may add one.
      const bool ordered = std::ranges::any_of(
          sent.places, [&](const copy_place& p) { return p.model == m.id && p.from == n.id; });
      expect(!ordered || followers <= 1 || policy_ == scaling_policy::blitz_network,
             "a node feeds two others");
      auto at = n.id;
      for (size_t steps = 0;; ++steps) {
        const auto* is = v.find(at);
        const auto* i = is == nullptr ? nullptr : is->image(m.id);
        if (i == nullptr || i->complete() || !i->filling || i->from == at) break;
        at = i->from;
        if (steps <= v.nodes.size()) continue;
        // An old report may show one that an order has ended already.
        expect(policy_ != scaling_policy::blitz &&
                   std::ranges::none_of(sent.places, [&](const copy_place& p) { return p.model == m.id; }),
               "sources form a cycle");
        break;
      }
    }
}

void scaling_world::check_rooms() {
  for (const auto& n : nodes_) {
    expect(n.is.bytes() <= n.is.capacity, "images exceed the capacity");
    const auto engines = std::ranges::count_if(
        n.engines, [](const engine& e) { return e.life.stage() != instance_stage::idle; });
    expect(n.is.max_engines == 0 || engines <= n.is.max_engines, "there are more engines than max_engines");
  }
}

bool scaling_world::settle() {
  for (int round = 0; round < 300; ++round) {
    bool changed = false;
    for (auto& n : nodes_) {
      while (deliver_order(n)) changed = true;
      for (auto& i : n.is.images) changed |= advance_image(n, i);
      for (auto& e : n.engines) changed |= advance_engine(n, e, true);
    }
    for (auto& n : nodes_)
      while (deliver_report(n)) changed = true;
    changed |= decide();
    if (!changed && !repeat_orders()) return true;
  }
  return false;
}

void scaling_world::check_settled() {
  for (const auto& m : models_) {
    uint32_t serving = 0, usable = 0, complete = 0, unused = 0;
    for (auto& n : nodes_) {
      if (!n.up || n.is.leaving) continue;
      const auto* i = image(n, m.id);
      expect(i == nullptr || i->complete() || !i->problem.empty(), "a transfer waits");
      const bool has = i != nullptr && i->complete();
      complete += has ? 1 : 0;
      unused += has && std::ranges::none_of(n.engines,
                                            [&](const engine& e) {
                                              return e.place.model == m.id &&
                                                     e.life.stage() != instance_stage::idle;
                                            })
                    ? 1
                    : 0;
      for (const auto& e : n.engines)
        if (e.place.model == m.id) {
          ++usable;
          if (e.life.stage() == instance_stage::serving && !e.place.unusable) ++serving;
        }
    }
    const bool is_short = std::ranges::count(short_of_places_, m.id) > 0;
    expect(serving == m.wanted || (serving < m.wanted && is_short), "the number of instances is wrong");
    expect(!ample_ || serving == std::min(m.wanted, usable), "an instance is missing");
    expect(!ample_ || complete >= std::min(copies_, usable), "a copy is missing");
    const bool everywhere = policy_ == scaling_policy::all_cache;
    const bool stays = everywhere || (policy_ == scaling_policy::serverless && keep_ > 0s);
    expect(unused == 0 || complete <= copies_ || stays, "a copy is not dropped");
    expect(!ample_ || !everywhere || complete >= usable, "a node of all has no copy");
  }
}

}  // namespace troupe
