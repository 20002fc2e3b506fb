// The steps of a model that were begun and have not ended, in their order, and what is told of each.
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

/// What engine_device::start was given.
struct ordered_step {
  const llm_step* step = nullptr;
  std::span<const token_sampling> samplings;
  layer_range layers;
};

/// On the thread of the model. What throws device_lost is passed on; any other problem makes a step fail, and
/// with it those behind it.
class steps_in_flight {
 public:
  /// `tell` gets step_done and step_failed; of failures one for all that are lost. `c` outlives it.
  steps_in_flight(const clock& c, std::function<void(engine_event)> on_event)
      : time_(c), on_event_(std::move(on_event)) {}

  bool empty() const { return steps_.empty(); }
  /// Layers end before `layers`. One with a `problem` fails when those before it have ended.
  void begin(step_model& model, const ordered_step& s, uint32_t layers, std::string problem,
             const std::atomic<bool>& stopping);
  /// Waits for the first. `room`: memory for what it chooses. False: all are gone, because it has failed or
  /// was stopped.
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
  time_point ended_ = long_ago;  // the last one
};

}  // namespace troupe::llm
