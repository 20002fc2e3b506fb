// The interface of a language model on a CPU or GPU, used by an engine's device
// (gpu/llm/computing_engine_device.hpp).
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <vector>

#include "gpu/checkpoint/parameters.hpp"
#include "gpu/llm/activation.hpp"
#include "gpu/llm/engine_device.hpp"
#include "gpu/llm/packed_adapter.hpp"
#include "messages/llm/step.hpp"
#include "messages/llm/token_choice.hpp"

namespace troupe::llm {

class image_set;

/// All calls come from one thread, except `pack` and `kv_memory`. Failures throw and leave the state
/// unchanged.
class step_model {
 public:
  virtual ~step_model() = default;

  /// Sets the fields of the KV cache; leaves the others out.
  virtual engine_facts facts() const = 0;
  /// Loads the next layer of the checkpoint. Returns its size in this model's memory, in bytes.
  virtual uint64_t load(uint32_t layer, const layer_parameters& parameters) = 0;
  /// Uses the next layer of images that engines share (computing_options::images). Returns its size in bytes.
  virtual uint64_t adopt(uint32_t layer, const std::shared_ptr<const image_set>& images) {
    (void)layer, (void)images;
    throw std::logic_error("this model uses no shared images");
  }
  /// Copies an adapter to the model's device. On the loader's thread, concurrently with steps.
  virtual std::shared_ptr<const packed_adapter> pack(const adapter& read) = 0;
  /// Installs a packed adapter between two steps. Slow work belongs in `pack`.
  virtual void load(adapter_id id, std::shared_ptr<const packed_adapter> adapter) = 0;
  /// Requires: no step uses the adapter.
  virtual void unload(adapter_id id) = 0;
  /// Begins layers [first, end) of the checkpoint (engine_device::start), and sampling if the head is one of
  /// them. x: null for whole steps. Requires: at most `facts().steps_ahead` steps are in flight. If it
  /// throws, those go on.
  virtual void begin(const llm_step& step, std::span<const token_sampling> samplings, uint32_t first,
                     uint32_t end, activation* x) = 0;
  /// True if `finish` would not wait for the device.
  virtual bool is_ready() = 0;
  /// Waits for the oldest step in flight. False: it ended early, because `stopping` was set. If it throws, no
  /// step is in flight any more.
  virtual bool finish(std::vector<chosen_token>& chosen, const std::atomic<bool>& stopping) = 0;
  /// engine_device::kv_memory.
  virtual kv_cache_memory kv_memory() = 0;
};

}  // namespace troupe::llm
