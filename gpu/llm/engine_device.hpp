// The device of an engine: one language model on one device, with slots for adapters. Three kinds (emulated,
// CPU, CUDA) share the interface, as for tensor models (gpu/device/device.hpp).
//
// Long operations run asynchronously: loading the model, reading and loading adapters, steps. The device
// calls its `ready` function, from a thread of its own, when `poll` has an event.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gpu/llm/activation.hpp"
#include "messages/common/time.hpp"
#include "messages/llm/step.hpp"
#include "messages/llm/token_choice.hpp"

namespace troupe::llm {

/// Properties of a device's model, complete once it is loaded.
struct engine_facts {
  uint32_t vocabulary = 0;
  uint32_t max_positions = 0;
  uint32_t blocks = 0;  ///< of the KV cache
  uint32_t block_tokens = 0;
  uint64_t block_bytes = 0;        ///< size of a block over all layers
  uint32_t layers = 0;             ///< the decoder's, plus embedding and head
  uint32_t layers_ready = 0;       ///< layers [0, n) are loaded
  uint64_t weight_bytes = 0;       ///< of the loaded layers
  std::vector<token> end_of_text;  ///< end a sequence, unless a request says otherwise
  uint32_t steps_ahead = 0;        ///< steps that may be started while one runs: 0 or 1
  duration longest_step{};         ///< limit of a step; beyond it the device is lost; 0: no limit
};

/// The layers that a step runs. Layer 0 is the embedding; the last one is the final norm and the head.
struct layer_range {
  uint32_t first = 0;
  uint32_t end = std::numeric_limits<uint32_t>::max();  ///< exclusive; beyond the model: all that follow
  /// In: output of layer `first - 1` (layer 0 ignores it). Out: output of the last layer, unless that is the
  /// head. Must stay valid until the step is done. Null: the device's own buffer; for whole steps only.
  activation* x = nullptr;
};

/// An event of a device. Each kind names the fields that it sets.
struct engine_event {
  enum class kind : uint8_t {
    layers_ready,   ///< more layers are loaded, but not all: `facts`
    loaded,         ///< the whole model is loaded: `facts`
    unusable,       ///< the model cannot be loaded: `problem`
    lost,           ///< this process cannot use the device any more: `problem`. The last event
    step_done,      ///< `chosen`, if it ran the head
    step_failed,    ///< `problem`; the KV cache is void, and all started steps are lost
    adapter_read,   ///< `adapter` is in host memory, or its files are not usable: `problem`
    adapter_ready,  ///< `adapter` is on the device
    adapter_failed  ///< `adapter` cannot be loaded: `problem`
  };
  kind what = kind::loaded;
  std::string problem;
  bool transient = false;  ///< unusable: not because of the model's files, as a lack of memory
  engine_facts facts;
  std::vector<chosen_token> chosen;  ///< by entry of `llm_step::sampled`
  adapter_id adapter = base_model;
  duration took{};         ///< a step's time on the device; an adapter's time since the order
  bool from_disk = false;  ///< the adapter was read; false: it was in host memory
  uint64_t bytes = 0;      ///< of the adapter on the device
};

/// The KV cache of a device: `engine_facts::blocks` of `block_bytes` each, contiguous.
struct kv_cache_memory {
  std::span<std::byte> bytes;      ///< empty: it is not in one piece of host memory
  std::optional<uint64_t> offset;  ///< of the first byte, for pulls by peers; nothing: they cannot
};

/// Not thread-safe: one owner calls it.
class engine_device {
 public:
  virtual ~engine_device() = default;

  /// Begins to load the model. A device that has a model, as most have from the beginning, goes on with it.
  virtual void load() {}
  /// Gives up the model, with its KV cache and the adapters on the device, and all events. Only devices of
  /// models that scale do so (gpu/llm/staged_engine_device.hpp). Requires: no step is under way.
  virtual void unload() {}
  /// The properties that the model will have, before it is loaded for the first time. Zeros: not known.
  virtual engine_facts expected() const { return {}; }

  /// Starts some layers of a step (BlitzScale §5.2 runs the first ones here while later ones arrive). `step`,
  /// `samplings` (one for each entry of `step.sampled`; none if the head is not run) and the memory that they
  /// point to must stay unchanged until the step is done. Steps run in order, with their events. If a
  /// whole step is started while another whole one runs, its rows may take tokens that the other one chooses
  /// (`chosen_before`). Requires: these layers are ready; at most `steps_ahead` other steps run; the step's
  /// adapters are on the device until it is done.
  virtual void start(const llm_step& step, std::span<const token_sampling> samplings,
                     const layer_range& layers) = 0;
  /// Starts all layers.
  void start(const llm_step& step, std::span<const token_sampling> samplings) { start(step, samplings, {}); }
  /// Takes the next event, in order. False: there is none.
  virtual bool poll(time_point now, engine_event& out) = 0;
  /// When to poll next. Only emulated devices know; real ones return `never` and call `ready`.
  virtual time_point poll_at() const { return never; }

  /// Reads the adapter of a folder into host memory, if there is room, to check it.
  virtual void read_adapter(adapter_id id, const std::string& folder) = 0;
  /// Loads the adapter of a folder onto the device. At most `adapter_slots` may be resident or loading at
  /// once.
  virtual void load_adapter(adapter_id id, const std::string& folder) = 0;
  /// Frees the adapter's slot. If it was still loading, there is no event. Requires: no step uses it.
  virtual void unload_adapter(adapter_id id) = 0;

  /// The KV cache, for transfers of blocks. The device owns it, until `unload` or `stop`. To be used between
  /// steps only, except for blocks that no step uses. Requires: an event has brought `facts`.
  virtual kv_cache_memory kv_memory() = 0;
  /// The owner has written to these blocks.
  virtual void on_kv_written(std::span<const uint32_t> blocks) { (void)blocks; }

  /// Stops the device: no memory of a step is read any more, and `ready` is not called. No call may follow,
  /// except `stop` itself, which is then a no-op.
  virtual void stop() = 0;
};

}  // namespace troupe::llm
