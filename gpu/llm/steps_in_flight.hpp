// The steps in flight of a model, in order, and their events.
#pragma once
#include <atomic>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gpu/llm/engine_device.hpp"
#include "gpu/llm/step_model.hpp"

namespace troupe::llm {

/// Arguments of engine_device::start.
struct ordered_step {
  const llm_step* step = nullptr;
  std::span<const token_sampling> samplings;
  layer_range layers;
};

/// Used on the model's thread. Passes device_lost on. Any other exception makes the step fail, and all steps
/// behind it.
class steps_in_flight {
 public:
  /// `on_event` gets step_done and step_failed; one failure covers all lost steps. `c` must outlive this.
  steps_in_flight(const clock& c, std::function<void(engine_event)> on_event)
      : time_(c), on_event_(std::move(on_event)) {}

  bool empty() const { return steps_.empty(); }
  /// Begins a step; `layers` limits its range. A step with a `problem` fails when those before it have ended.
  void begin(step_model& model, const ordered_step& s, uint32_t layers, std::string problem,
             const std::atomic<bool>& stopping);
  /// Waits for the oldest step. `room`: memory for its chosen tokens. False: it failed or was stopped, and
  /// all steps are gone.
  bool finish(step_model& model, std::vector<chosen_token> room, const std::atomic<bool>& stopping);

 private:
  struct started_step {
    uint32_t rows;
    time_point at;
  };
  void fail(std::string problem);

  const clock& time_;
  const std::function<void(engine_event)> on_event_;
  std::deque<started_step> steps_;
  time_point ended_ = long_ago;  // end of the last step
};

}  // namespace troupe::llm
