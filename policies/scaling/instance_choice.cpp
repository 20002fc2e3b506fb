#include "policies/scaling/instance_choice.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace troupe {
namespace {

using enum instance_stage;
using place = scaling_view::place;

/// The engines that are not idle and the bytes of images on a node.
struct occupancy {
  uint32_t engines = 0;
  uint64_t bytes = 0;
};

class chooser {
 public:
  explicit chooser(const scaling_view& v) : view_(v) {
    for (const auto& n : v.nodes) after_[n.id].bytes = n.bytes();
    for (const auto& p : v.places) {
      to_[p.engine] = p.stage;
      if (p.stage != idle) ++now_[p.node], ++after_[p.node].engines;
      if (p.stage == loading && !v.counts(p)) make_idle(p);
    }
  }

  instance_choice run() {
    for (const auto& m : view_.models) stop_surplus(m);
    for (const auto& m : view_.models) start_missing(m);
    for (const auto& p : view_.places)
      if (is_parked(p) && p.park_is_over) make_idle(p);
    for (const auto& m : view_.models) add_orders(m);
    return std::move(out_);
  }

 private:
  /// What has to go from a node so that one more engine fits.
  struct departures {
    std::vector<const place*> engines;  ///< that are parked
    std::vector<weights_id> images;
  };

  bool shall_serve(const place& p) const {
    const auto to = to_.at(p.engine);
    return to == loading || to == serving;
  }
  bool is_parked(const place& p) const { return p.stage == parked && to_.at(p.engine) == parked; }
  void make_idle(const place& p) {
    to_[p.engine] = idle;
    --after_[p.node].engines;
  }
  uint32_t instances(weights_id model) const {
    return static_cast<uint32_t>(std::ranges::count_if(view_.places, [&](const place& p) {
      return p.model == model && shall_serve(p) && !p.unusable && !view_.is_leaving(p);
    }));
  }

  void stop_surplus(const scaling_view::model& m) {
    for (auto surplus = instances(m.id); surplus > m.wanted; --surplus) {
      const auto too_many = phase_of_too_many(m);
      const auto rank = [&](const place& p) {  // the largest stops
        return std::tuple(p.stage == loading, p.phase == too_many, -static_cast<int64_t>(p.sequences),
                          p.engine);
      };
      const place* last = nullptr;
      for (const auto& p : view_.places)
        if (p.model == m.id && shall_serve(p) && view_.counts(p) &&
            (last == nullptr || rank(p) > rank(*last)))
          last = &p;
      if (last->stage == loading)
        make_idle(*last);
      else
        to_[last->engine] = parked;
    }
  }

  /// `both`: the model is not disaggregated.
  instance_phase phase_of_too_many(const scaling_view::model& m) const {
    if (m.prefill == 0) return instance_phase::both;
    const auto prefill = std::ranges::count_if(view_.places, [&](const place& p) {
      return p.model == m.id && shall_serve(p) && view_.counts(p) && p.phase == instance_phase::prefill;
    });
    return prefill > m.prefill ? instance_phase::prefill : instance_phase::decode;
  }

  void start_missing(const scaling_view::model& m) {
    for (auto n = instances(m.id); n < m.wanted; ++n)
      if (!start_one(m)) {
        out_.short_of_places.push_back(m.id);
        return;
      }
  }

  bool start_one(const scaling_view::model& m) {
    const place* best = nullptr;
    departures best_go;
    std::tuple<int, size_t, uint32_t, engine_id> best_rank;
    for (const auto& p : view_.places) {
      if (p.model != m.id || p.unusable || view_.is_leaving(p) || shall_serve(p) || p.stage == loading)
        continue;
      std::optional<departures> go(std::in_place);
      if (p.stage == idle) go = room_for(p, m);
      if (!go) continue;
      const std::tuple rank(cost(p), go->engines.size() + go->images.size(), after_[p.node].engines,
                            p.engine);
      if (best == nullptr || rank < best_rank) best = &p, best_rank = rank, best_go = std::move(*go);
    }
    if (best == nullptr) return false;
    start(*best, m, best_go);
    return true;
  }

  int cost(const place& p) const {
    if (p.stage != idle) return p.stage == draining ? 0 : 1;
    const auto& n = *view_.find(p.node);
    if (const auto* i = n.image(p.model)) return i->complete() ? 2 : 3;
    return std::ranges::any_of(view_.nodes,
                               [&](const scaling_view::node& other) {
                                 return n.domain != no_scale_up_domain && other.domain == n.domain &&
                                        other.has(p.model);
                               })
               ? 4
               : 5;
  }

  void start(const place& p, const scaling_view::model& m, const departures& go) {
    to_[p.engine] = serving;
    if (p.stage != idle) return;
    const auto* n = view_.find(p.node);
    auto& room = after_[p.node];
    for (const auto* e : go.engines) make_idle(*e);
    for (const auto i : go.images) {
      room.bytes -= n->image(i)->bytes;
      gone_.emplace(n->id, i);
    }
    ++room.engines;
    if (n->image(m.id) == nullptr && on_the_way_.emplace(n->id, m.id).second) room.bytes += m.bytes;
  }

  /// Nothing: an idle engine does not fit.
  std::optional<departures> room_for(const place& p, const scaling_view::model& m) const {
    const auto* n = view_.find(p.node);
    if (n == nullptr || view_.has_problem(p) || gone_.contains({p.node, m.id})) return std::nullopt;
    departures out;
    auto room = after_.at(p.node);
    const auto end = [&](const place& e) {
      out.engines.push_back(&e);
      --room.engines;
    };
    if (n->image(m.id) == nullptr && !on_the_way_.contains({n->id, m.id})) {
      for (const auto& i : by_use(*n)) {
        if (room.bytes + m.bytes <= n->capacity) break;
        if (!can_go(*n, i)) continue;
        room.bytes -= i.bytes;
        out.images.push_back(i.model);
        for (const auto& e : view_.places)
          if (e.node == p.node && e.model == i.model && is_parked(e)) end(e);
      }
      if (room.bytes + m.bytes > n->capacity) return std::nullopt;
    }
    const auto fits = [&] { return n->max_engines == 0 || room.engines < n->max_engines; };
    for (const auto& e : view_.places)
      if (!fits() && e.node == p.node && is_parked(e) && std::ranges::count(out.engines, &e) == 0) end(e);
    if (!fits()) return std::nullopt;
    return out;
  }

  /// The least recently used ones first, as far as that is known.
  static std::vector<image_state> by_use(const scaling_view::node& n) {
    auto out = n.images;
    std::ranges::stable_sort(out, std::greater(),
                             [&](const image_state& i) { return n.unused_for(i.model); });
    return out;
  }

  /// No engine needs the image, and enough complete copies are left.
  bool can_go(const scaling_view::node& n, const image_state& i) const {
    const auto gone = std::ranges::count_if(view_.nodes, [&](const scaling_view::node& other) {
      return gone_.contains({other.id, i.model}) && other.has(i.model) && !other.leaving;
    });
    const auto kept = view_.copies + static_cast<uint32_t>(gone) + (i.complete() && !n.leaving ? 1 : 0);
    return !are_model_files(i.model) && i.problem.empty() && !gone_.contains({n.id, i.model}) &&
           view_.complete_copies(i.model) >= kept && std::ranges::none_of(view_.places, [&](const place& p) {
             return p.node == n.id && p.model == i.model && to_.at(p.engine) != idle && !is_parked(p);
           });
  }

  void add_orders(const scaling_view::model& m) {
    for (const auto& p : view_.places) {
      if (p.model != m.id) continue;
      if (shall_serve(p) && p.stage != serving) out_.starting.push_back(p.engine);
      const auto to = to_.at(p.engine);
      if (to == p.stage || (to == parked && p.stage == draining)) continue;
      if (p.stage == idle && !can_load_now(p, m)) continue;
      out_.orders.push_back({p.engine, to});
    }
  }
  /// With the engines that are there until they report to be idle. Counts it.
  bool can_load_now(const place& p, const scaling_view::model& m) {
    const auto* n = view_.find(p.node);
    const auto* i = n->image(m.id);
    if (m.bytes > 0 && (i == nullptr || i->chunks == 0)) return false;
    auto& engines = now_[p.node];
    if (n->max_engines > 0 && engines >= n->max_engines) return false;
    ++engines;
    return true;
  }

  const scaling_view& view_;
  std::map<engine_id, instance_stage> to_;
  std::map<node_id, uint32_t> now_;  ///< engines that are not idle
  std::map<node_id, occupancy> after_;
  std::set<std::pair<node_id, weights_id>> gone_, on_the_way_;  ///< images
  instance_choice out_;
};

}  // namespace

instance_choice choose_instances(const scaling_view& v) { return chooser(v).run(); }

}  // namespace troupe
