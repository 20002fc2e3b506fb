// Updates of a gateway for the routers of its models: requests that need a place, that moved or grew, and
// that ended.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "messages/llm/routing.hpp"

namespace troupe {

/// Collects the updates of a turn. The gateway asks again later for a request that the router placed on a
/// lost engine, or that its engine dropped; by then the router knows the reason. Pure.
class router_updates {
 public:
  /// `models`: each llm_id is below it.
  explicit router_updates(size_t models) : changed_(models), ended_(models) {}

  void change(llm_id model, routed_request r) { changed_[model.value].requests.push_back(std::move(r)); }
  /// Adds an ended request and discards its pending changes.
  void end(llm_id model, request_id id) {
    std::erase_if(changed_[model.value].requests, [&](const routed_request& r) { return r.id == id; });
    ended_[model.value].requests.push_back(id);
  }
  /// The router is new or has lost its state: discards pending updates, and marks the next `route` of each
  /// model as complete (`all`).
  void start_over() {
    for (auto& c : changed_) c = {{}, true, {}};
    for (auto& e : ended_) e.requests.clear();
    misplaced_.clear();
    ask_at_ = never;
  }

  /// The requests that ended and the requests that changed since the last call; nothing if there are none.
  std::optional<route_ends> take_ended(llm_id model) {
    auto& e = ended_[model.value];
    if (e.requests.empty()) return {};
    e.model = model;
    return std::exchange(e, {});
  }
  std::optional<route> take_changed(llm_id model) {
    auto& c = changed_[model.value];
    if (c.requests.empty() && !c.all) return {};
    c.model = model;
    size_t blocks = 0;
    for (auto& r : c.requests)
      if ((blocks += r.prefix.size()) > max_prefix_blocks) r.prefix.clear();
    return std::exchange(c, {});
  }

  /// Asks the router for this request again after a pause.
  void ask_later(request_id id, time_point now) {
    misplaced_.push_back(id);
    ask_at_ = std::min(ask_at_, now + between_questions);
  }
  /// The requests that are due, in the order of `ask_later`; some may have ended since.
  std::vector<request_id> take_due(time_point now) {
    if (now < ask_at_) return {};
    ask_at_ = never;
    return std::exchange(misplaced_, {});
  }
  /// When to call `take_due` next.
  time_point next_due() const { return ask_at_; }

 private:
  static constexpr duration between_questions = 50ms;
  /// In one message, whose size is bounded; the other requests are placed as if nothing of them was cached.
  static constexpr size_t max_prefix_blocks = 1 << 17;

  std::vector<route> changed_;  // by model
  std::vector<route_ends> ended_;
  std::vector<request_id> misplaced_;
  time_point ask_at_ = never;
};

}  // namespace troupe
