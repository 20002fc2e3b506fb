// Times at which an engine sends its status to gateways and routers: after changes, at most once an interval,
// and only if it differs from the last one sent.
#pragma once
#include <optional>
#include <utility>

#include "messages/common/time.hpp"
#include "messages/llm/generation.hpp"

namespace troupe::llm {

class status_updates {
 public:
  explicit status_updates(duration interval) : interval_(interval) {}

  /// The status may have changed.
  void on_change() { changed_ = true; }
  /// The status has changed, and is sent without waiting for the interval.
  void on_urgent_change() {
    changed_ = true;
    sent_at_ = long_ago;
  }
  /// A peer without any status yet: the status is sent at once, changed or not.
  void on_new_peer() {
    on_urgent_change();
    sent_.reset();
  }

  /// The next time to compute the status.
  time_point due_at() const { return changed_ ? sent_at_ + interval_ : never; }
  bool is_due(time_point now) const { return changed_ && now >= sent_at_ + interval_; }
  /// Returns the status to be sent, valid until the next call; null: nothing new.
  const engine_status* update(engine_status s, time_point now) {
    changed_ = false;
    sent_at_ = now;
    if (sent_ && *sent_ == s) return nullptr;
    return &sent_.emplace(std::move(s));
  }

 private:
  const duration interval_;
  bool changed_ = true;
  time_point sent_at_ = long_ago;
  std::optional<engine_status> sent_;
};

}  // namespace troupe::llm
