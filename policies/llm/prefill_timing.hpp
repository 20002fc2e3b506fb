// When prompts that wait are prefilled: at once, or as late as their targets allow, by name.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>

#include "messages/llm/generation.hpp"
#include "policies/common/registry.hpp"

namespace troupe::llm {

/// What an engine has to prefill, between two steps.
struct prefill_queue {
  time_point now{};
  uint32_t waiting = 0;       ///< sequences, at least one
  uint32_t places = 0;        ///< sequences that may begin before another ends, at least one
  uint64_t tokens = 0;        ///< of the prompts of those that wait
  uint32_t chunk = 0;         ///< tokens of prompts that a step has at most
  uint32_t decodes = 0;       ///< sequences that get a token with each step
  time_point due = long_ago;  ///< the first of their first tokens; `long_ago`: one has no target
  step_forecast steps;
};

class prefill_timing {
 public:
  virtual ~prefill_timing() = default;
  /// When the first of them is to begin; not after `now`: with the next step.
  virtual time_point begin(const prefill_queue& q) const = 0;
};

/// eager: at once.
///
/// deferred: Symphony's batching (§3.2), which it leaves to future work for sequences: prompts wait for
/// others as long as all of them would still have their first token in time. They begin together when another
/// step would be too much, when they fill a step, or when no more could begin. Until then decodes run
/// undisturbed, and a device without any rests. What has no target waits for nobody.
using prefill_timing_factory = std::function<std::unique_ptr<prefill_timing>()>;
registry<prefill_timing_factory>& prefill_timings();

}  // namespace troupe::llm
