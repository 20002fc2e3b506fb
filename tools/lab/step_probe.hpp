// Runs steps of a language model on a device and measures their times.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "gpu/llm/engine_device.hpp"
#include "tools/lab/step_fit.hpp"

namespace troupe {

/// A step: sequences with the positions to compute; one position is a decode.
struct probed_step {
  struct sequence {
    uint32_t first = 0, end = 1;  ///< positions [first, end), those before are in the KV cache
    bool operator==(const sequence&) const = default;
  };
  std::vector<sequence> sequences;  ///< prompts first
  uint32_t adapters = 0;  ///< number of adapters, spread evenly over the sequences; 0: the base model
  bool operator==(const probed_step&) const = default;
};

struct probe_limits {
  uint32_t max_batch = 32;      ///< decodes
  uint32_t max_context = 2048;  ///< positions of a sequence
  uint32_t prefill_chunk = 512;
  uint32_t adapters = 0;   ///< at most
  uint64_t kv_tokens = 0;  ///< capacity of the device
  uint32_t block_tokens = 16;
};

/// Decodes by batch size and context, equal contexts, one long context among short ones, prompts and later
/// chunks of them, both together, one and many adapters: all that the limits allow, at least two.
std::vector<probed_step> steps_to_probe(const probe_limits& l);

llm::llm_step step_of(const probed_step& p, uint32_t block_tokens);

/// Runs steps on a device, one after the other, and handles its events.
class step_probe {
 public:
  /// `wait` returns when the device may have an event, at the latest at the given time.
  step_probe(llm::engine_device& device, const clock& c, std::function<void(time_point)> wait)
      : device_(device), clock_(c), wait_(std::move(wait)) {}

  /// Waits until the model is loaded. Throws request_refused if it cannot be loaded.
  llm::engine_facts load();
  /// Fills the KV cache with small numbers, as if sequences had been computed.
  void fill_cache();
  /// Loads adapters 1 to `count` from this folder onto the device. Returns the median time to load one that
  /// is in host memory. Throws request_refused if its files are not usable.
  duration load_adapters(uint32_t count, const std::string& folder);
  /// Runs all steps in turns, at least three times after one warm-up run, for `budget` in all; returns the
  /// median of each. One step of four is held out of fits.
  std::vector<step_sample> measure(const std::vector<probed_step>& steps, duration budget);

 private:
  llm::engine_event next(llm::engine_event::kind awaited);
  duration run(const llm::llm_step& step);

  llm::engine_device& device_;
  const clock& clock_;
  const std::function<void(time_point)> wait_;
  llm::engine_facts facts_;
};

}  // namespace troupe
