// When an engine tells gateways and routers its status: after changes, at most once an interval, and only
// if it differs from the status told last.
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
  /// The status has changed, and is told without waiting for the interval.
  void on_urgent_change() {
    changed_ = true;
    told_at_ = long_ago;
  }
  /// A peer that has heard nothing yet: the status is told at once, changed or not.
  void on_new_peer() {
    on_urgent_change();
    told_.reset();
  }

  /// When the status is to be looked at next.
  time_point due_at() const { return changed_ ? told_at_ + interval_ : never; }
  bool is_due(time_point now) const { return changed_ && now >= told_at_ + interval_; }
  /// The status was looked at. Returns what is to be told, valid until the next call; null: nothing new.
  const engine_status* update(engine_status s, time_point now) {
    changed_ = false;
    told_at_ = now;
    if (told_ && *told_ == s) return nullptr;
    return &told_.emplace(std::move(s));
  }

 private:
  const duration interval_;
  bool changed_ = true;
  time_point told_at_ = long_ago;
  std::optional<engine_status> told_;
};

}  // namespace troupe::llm
