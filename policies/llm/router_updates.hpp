// The news of a gateway for the routers of its models: requests that want a place, requests that moved or
// grew, requests that ended.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "messages/llm/routing.hpp"

namespace troupe {

/// Collects the news of a turn. A request that the router sends to an engine which the gateway does not see
/// is asked for again later: the router will know by then why the engine is gone. Pure.
class router_updates {
 public:
  /// `models`: each llm_id is below it.
  explicit router_updates(size_t models) : changed_(models), ended_(models) {}

  void change(llm_id model, routed_request r) { changed_[model.value].requests.push_back(std::move(r)); }
  /// Pending changes of the request are forgotten.
  void end(llm_id model, request_id id) {
    std::erase_if(changed_[model.value].requests, [&](const routed_request& r) { return r.id == id; });
    ended_[model.value].requests.push_back(id);
  }
  /// Another router is to be told, or the same one anew: pending news are forgotten, and the next `route` of
  /// each model says that it has all requests.
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
    return std::exchange(c, {});
  }

  /// The router is to be asked for this request again, in a while.
  void ask_later(request_id id, time_point now) {
    misplaced_.push_back(id);
    ask_at_ = std::min(ask_at_, now + between_questions);
  }
  /// Those requests once it is time, in the order of `ask_later`; some may have ended since.
  std::vector<request_id> take_due(time_point now) {
    if (now < ask_at_) return {};
    ask_at_ = never;
    return std::exchange(misplaced_, {});
  }
  /// When to call `take_due` next.
  time_point next_due() const { return ask_at_; }

 private:
  static constexpr duration between_questions = 50ms;

  std::vector<route> changed_;  // by model
  std::vector<route_ends> ended_;
  std::vector<request_id> misplaced_;
  time_point ask_at_ = never;
};

}  // namespace troupe
