// A language model on something that computes, as an engine's device drives it
// (gpu/llm/computing_engine_device.hpp).
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "gpu/checkpoint/parameters.hpp"
#include "gpu/llm/activation.hpp"
#include "gpu/llm/engine_device.hpp"
#include "gpu/llm/packed_adapter.hpp"
#include "messages/llm/step.hpp"
#include "messages/llm/token_choice.hpp"

namespace troupe::llm {

/// All from one thread, but for `pack` and `kv_memory`. What fails throws, and what was there before still
/// is.
class step_model {
 public:
  virtual ~step_model() = default;

  /// Of the KV cache; the rest is left out.
  virtual engine_facts facts() const = 0;
  /// Takes the next layer of the checkpoint; the bytes that it keeps of it.
  virtual uint64_t load(uint32_t layer, const layer_parameters& parameters) = 0;
  /// Brings an adapter to where the model computes; on the loader's thread, beside steps.
  virtual std::shared_ptr<const packed_adapter> pack(const adapter& read) = 0;
  /// Takes an adapter that it packed; between two steps, so what takes long belongs into `pack`.
  virtual void load(adapter_id id, std::shared_ptr<const packed_adapter> adapter) = 0;
  /// Requires: no step uses it any more.
  virtual void unload(adapter_id id) = 0;
  /// Begins to run layers [first, end) of the checkpoint (engine_device::start), and to choose tokens if the
  /// head is one of them. x: null for whole steps. Requires: no more steps are under way than
  /// `facts().steps_ahead`. If it throws, those go on.
  virtual void begin(const llm_step& step, std::span<const token_sampling> samplings, uint32_t first,
                     uint32_t end, activation* x) = 0;
  /// Whether `finish` would not wait for the device.
  virtual bool is_ready() = 0;
  /// Ends the first step under way. False: it ended early, because `stopping` was set. If it throws no step
  /// is under way any more.
  virtual bool finish(std::vector<chosen_token>& chosen, const std::atomic<bool>& stopping) = 0;
  /// engine_device::kv_memory.
  virtual std::span<std::byte> kv_memory() = 0;
};

}  // namespace troupe::llm
