// Prefill timing policies, by name: waiting prompts are prefilled at once, or as late as their targets allow.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>

#include "messages/llm/generation.hpp"
#include "policies/common/registry.hpp"

namespace troupe::llm {

/// The waiting prompts of an engine, between two steps.
struct prefill_queue {
  time_point now{};
  uint32_t waiting = 0;       ///< sequences, at least one
  uint32_t places = 0;        ///< sequences that can begin before another ends, at least one
  uint64_t tokens = 0;        ///< of the waiting prompts
  uint32_t chunk = 0;         ///< maximum tokens of prompts in a step
  uint32_t decodes = 0;       ///< sequences that get a token with each step
  time_point due = long_ago;  ///< earliest TTFT target; `long_ago`: a prompt has none
  step_forecast steps;
};

class prefill_timing {
 public:
  virtual ~prefill_timing() = default;
  /// When the first of them begins; at `now` or before: with the next step.
  virtual time_point begin(const prefill_queue& q) const = 0;
};

/// deferred: Symphony's batching (§3.2) for prompts, which the paper leaves to future work. Prompts wait for
/// others as long as all of them can still meet their TTFT targets. They begin together when one more step
/// would be too late, when they fill a step, or when no more could begin. Until then decodes run undisturbed,
/// and a device without decodes idles. A prompt without a target does not wait.
using prefill_timing_factory = std::function<std::unique_ptr<prefill_timing>()>;
registry<prefill_timing_factory>& prefill_timings();

}  // namespace troupe::llm
