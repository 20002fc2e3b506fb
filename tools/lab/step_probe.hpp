// Steps of a language model on a device, run to see how long they take.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "gpu/llm/engine_device.hpp"
#include "tools/lab/step_fit.hpp"

namespace troupe {

/// What a step holds: sequences of which some positions are computed; one position is a decode.
struct probed_step {
  struct sequence {
    uint32_t first = 0, end = 1;  ///< positions [first, end), those before are in the KV cache
    bool operator==(const sequence&) const = default;
  };
  std::vector<sequence> sequences;  ///< prompts first
  uint32_t adapters = 0;            ///< as many among them, in equal parts; 0: the base model
  bool operator==(const probed_step&) const = default;
};

struct probe_limits {
  uint32_t max_batch = 32;      ///< decodes
  uint32_t max_context = 2048;  ///< positions of a sequence
  uint32_t prefill_chunk = 512;
  uint32_t adapters = 0;   ///< at most
  uint64_t kv_tokens = 0;  ///< that the device holds
  uint32_t block_tokens = 16;
};

/// Decodes by batch and context, equal contexts and one long one among short ones, prompts and later chunks
/// of them, both together, one and many adapters: all that the limits allow, at least two.
std::vector<probed_step> steps_to_probe(const probe_limits& l);

llm::llm_step step_of(const probed_step& p, uint32_t block_tokens);

/// Runs steps on a device, one after the other, and sees what it tells meanwhile.
class step_probe {
 public:
  /// `wait` returns when the device may have something to tell; at the latest at the time it is given.
  step_probe(llm::engine_device& device, const clock& c, std::function<void(time_point)> wait)
      : device_(device), clock_(c), wait_(std::move(wait)) {}

  /// Waits until the model is there. Throws request_refused if it cannot be loaded.
  llm::engine_facts load();
  /// The KV cache holds small numbers from now on, as if sequences had been computed.
  void fill_cache();
  /// Brings adapters 1 to `count` of this folder onto the device. The median time for one that is in host
  /// memory. Throws request_refused if its files will not do.
  duration load_adapters(uint32_t count, const std::string& folder);
  /// Runs all of the steps in turns, at least three times after one that does not count, and for so long in
  /// all; the median of each. One of four is held out of fits.
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
