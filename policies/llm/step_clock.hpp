// Times of an engine's steps: how long they took, when the one under way ends, and when it is overdue.
#pragma once
#include <algorithm>
#include <cstdint>

#include "policies/llm/step_meter.hpp"
#include "policies/llm/step_scheduler.hpp"

namespace troupe::llm {

/// Steps run one after the other. One that is started while another is under way begins when that one ends.
class step_clock {
 public:
  /// A device on which a step takes longer than this is lost. Zero: steps may take any time.
  void set_longest(duration longest) { longest_ = longest; }

  /// A step begins on a device that was idle.
  void begin(time_point now) { began_ = now; }
  /// The first step under way is done, and the next one, if it was started already, begins.
  void end(time_point now, uint32_t decodes, uint32_t prompt_tokens, duration took) {
    began_ = now;
    ++steps_;
    busy_ += took;
    meter_.add(decodes, prompt_tokens, took);
  }

  /// Forecast of the end of the first step under way, of so many rows; not before `now`.
  time_point ends_at(time_point now, uint32_t decodes, uint32_t prompt_tokens) const {
    const auto steps = meter_.forecast();
    return std::max(now, began_ + steps.fixed + decodes * steps.decode + prompt_tokens * steps.prefill);
  }
  /// When the first step under way is overdue: its device is lost.
  time_point overdue_at() const { return longest_ > duration{} ? began_ + longest_ : never; }

  step_forecast forecast() const { return meter_.forecast(); }
  /// For a step that begins at `at`.
  step_context context(time_point at) const { return {at, meter_.forecast(), meter_.prompt_tokens()}; }

  uint64_t steps() const { return steps_; }
  duration busy() const { return busy_; }

 private:
  step_meter meter_;
  duration longest_{};
  time_point began_ = long_ago;  // the first step under way
  uint64_t steps_ = 0;
  duration busy_{};
};

}  // namespace troupe::llm
