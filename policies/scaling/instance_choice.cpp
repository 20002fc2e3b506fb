#include "policies/scaling/instance_choice.hpp"

#include <array>
#include <map>
#include <tuple>
#include <utility>

namespace troupe {
namespace {

using place = scaling_view::place;

/// The engines and bytes of a node, with what is decided so far.
struct room {
  uint32_t engines = 0;
  uint64_t bytes = 0;
};

class chooser {
 public:
  explicit chooser(const scaling_view& v) : view_(v) {
    for (const auto& p : v.places) {
      to_[p.engine] = p.stage;
      if (p.stage != instance_stage::idle) ++rooms_[p.node].engines;
    }
    for (const auto& n : v.nodes) rooms_[n.id].bytes = n.bytes();
  }

  instance_choice run() {
    for (const auto& m : view_.models) stop_surplus(m);
    for (const auto& m : view_.models) start_missing(m);
    end_parking();
    for (const auto& m : view_.models) add_orders(m.id);
    return std::move(out_);
  }

 private:
  static bool shall_serve(instance_stage s) {
    return s == instance_stage::loading || s == instance_stage::serving;
  }
  uint32_t active(llm_id model) const {
    return static_cast<uint32_t>(std::ranges::count_if(view_.places, [&](const place& p) {
      return p.model == model && shall_serve(to_.at(p.engine)) && !p.unusable && !is_leaving(p);
    }));
  }
  bool is_leaving(const place& p) const {
    const auto* n = view_.find(p.node);
    return n == nullptr || n->leaving;
  }

  void stop_surplus(const scaling_view::model& m) {
    for (auto surplus = active(m.id); surplus > m.wanted; --surplus) {
      const place* worst = nullptr;
      const auto rank = [](const place& p) {  // the largest stops
        return std::tuple(p.stage == instance_stage::loading, -static_cast<int64_t>(p.sequences), p.engine);
      };
      for (const auto& p : view_.places)
        if (p.model == m.id && p.active() && shall_serve(to_.at(p.engine)) && !p.unusable && !is_leaving(p) &&
            (worst == nullptr || rank(p) > rank(*worst)))
          worst = &p;
      to_[worst->engine] =
          worst->stage == instance_stage::loading ? instance_stage::idle : instance_stage::parked;
      if (worst->stage == instance_stage::loading) --rooms_[worst->node].engines;
    }
  }

  void start_missing(const scaling_view::model& m) {
    for (auto n = active(m.id); n < m.wanted; ++n) {
      const auto* best = cheapest_place(m);
      if (best == nullptr) {
        out_.short_of_places.push_back(m.id);
        return;
      }
      make_room(*best, m);
      to_[best->engine] = instance_stage::serving;
    }
  }

  /// Where an instance starts soonest; ties by the node with the fewest engines, then by id. Null: nowhere.
  const place* cheapest_place(const scaling_view::model& m) const {
    const place* best = nullptr;
    std::tuple<int, uint32_t, engine_id> best_rank;
    for (const auto& p : view_.places) {
      if (p.model != m.id || p.unusable || is_leaving(p) || shall_serve(to_.at(p.engine))) continue;
      const auto* n = view_.find(p.node);
      const auto* image = n->image(m.id);
      if (m.bytes > 0 && image != nullptr && !image->problem.empty()) continue;
      if (p.stage == instance_stage::idle && !could_fit(p, *n, m)) continue;
      const int cost = p.stage == instance_stage::draining ? 0
                       : p.stage == instance_stage::parked ? 1
                       : n->has(m.id)                      ? 2
                       : image != nullptr                  ? 3
                                                           : 4;
      const std::tuple rank(cost, rooms_.at(p.node).engines, p.engine);
      if (best == nullptr || rank < best_rank) best = &p, best_rank = rank;
    }
    return best;
  }

  /// Parked engines of the node would go first.
  bool could_fit(const place& p, const scaling_view::node& n, const scaling_view::model& m) const {
    const auto& r = rooms_.at(p.node);
    uint32_t engines = r.engines;
    uint64_t bytes = r.bytes;
    for (const auto& other : view_.places)
      if (other.node == p.node && to_.at(other.engine) == instance_stage::parked &&
          other.stage == instance_stage::parked)
        --engines;
    const bool fits_engines = n.max_engines == 0 || engines < n.max_engines;
    if (n.image(m.id) != nullptr) return fits_engines;
    for (const auto& i : n.images)
      if (!is_used(p.node, i.model)) bytes -= i.bytes;
    return fits_engines && bytes + m.bytes <= n.capacity;
  }

  bool is_used(node_id node, llm_id model) const {
    return std::ranges::any_of(view_.places, [&](const place& p) {
      return p.node == node && p.model == model && to_.at(p.engine) != instance_stage::idle &&
             to_.at(p.engine) != instance_stage::parked;
    });
  }

  /// Sends parked engines of the node to idle until one more fits.
  void make_room(const place& p, const scaling_view::model& m) {
    if (p.stage != instance_stage::idle) return;
    auto& r = rooms_[p.node];
    const auto* n = view_.find(p.node);
    const uint64_t more = n->image(m.id) == nullptr ? m.bytes : 0;
    for (const auto& other : view_.places) {
      const bool fits = (n->max_engines == 0 || r.engines < n->max_engines) && r.bytes + more <= n->capacity;
      if (fits) break;
      if (other.node != p.node || other.stage != instance_stage::parked ||
          to_[other.engine] != instance_stage::parked)
        continue;
      to_[other.engine] = instance_stage::idle;
      --r.engines;
      if (const auto* i = n->image(other.model)) r.bytes -= i->bytes;
    }
    ++r.engines;
    r.bytes += more;
  }

  void end_parking() {
    for (const auto& p : view_.places)
      if (to_.at(p.engine) == instance_stage::parked && p.stage == instance_stage::parked && p.park_is_over)
        to_[p.engine] = instance_stage::idle;
  }

  void add_orders(llm_id model) {
    for (const auto& p : view_.places) {
      if (p.model != model) continue;
      const auto to = to_.at(p.engine);
      if (shall_serve(to) && p.stage != instance_stage::serving) out_.starting.push_back(p.engine);
      if (to == p.stage || (to == instance_stage::parked && p.stage == instance_stage::draining)) continue;
      out_.orders.push_back({p.engine, to});
    }
  }

  const scaling_view& view_;
  std::map<engine_id, instance_stage> to_;
  std::map<node_id, room> rooms_;
  instance_choice out_;
};

}  // namespace

instance_choice choose_instances(const scaling_view& v) { return chooser(v).run(); }

}  // namespace troupe
