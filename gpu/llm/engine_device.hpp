// What an engine runs its steps on: one language model on one device, with room for some adapters. Three
// kinds behind one interface, as for tensor models (gpu/device/device.hpp).
//
// Everything that takes long goes on beside the caller: loading the model, reading adapters and bringing them
// onto the device, steps. The device calls its `ready` function, from a thread of its own, when `poll` has
// something to tell.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "gpu/llm/activation.hpp"
#include "messages/common/time.hpp"
#include "messages/llm/step.hpp"
#include "messages/llm/token_choice.hpp"

namespace troupe::llm {

/// What a device says of its model once that is loaded.
struct engine_facts {
  uint32_t vocabulary = 0;
  uint32_t max_positions = 0;
  uint32_t blocks = 0;  ///< of its KV cache
  uint32_t block_tokens = 0;
  uint64_t block_bytes = 0;        ///< of all layers of a block
  uint32_t layers = 0;             ///< with the embedding before and the head behind the decoder's
  uint32_t layers_ready = 0;       ///< layers [0, n) are loaded; they come one by one
  uint64_t weight_bytes = 0;       ///< of those
  std::vector<token> end_of_text;  ///< unless a request says otherwise, these end a sequence
  uint32_t steps_ahead = 0;        ///< that may be started while one is under way: 0 or 1
  duration longest_step{};         ///< one that takes longer never ends, the device is lost; 0: none does
};

/// Which layers a step runs. 0 is the embedding, the last one the final norm and the head.
struct layer_range {
  uint32_t first = 0;
  uint32_t end = std::numeric_limits<uint32_t>::max();  ///< past the last; beyond the model: all that follow
  /// In: what layer `first - 1` gave (layer 0 ignores it). Out: what the last one gave, unless that was the
  /// head. Stays where it is until the step is done. Null: the device's own; for whole steps only.
  activation* x = nullptr;
};

/// What has happened on a device.
struct engine_event {
  enum class kind : uint8_t {
    layers_ready,   ///< some more layers, but not all yet: `facts`
    loaded,         ///< the whole model: `facts`
    unusable,       ///< the model cannot be loaded: `problem`
    lost,           ///< of no use to this process any more: `problem`. The last event
    step_done,      ///< `chosen`, if it ran the head
    step_failed,    ///< `problem`; the KV cache holds nothing any more, and all that was started is lost
    adapter_read,   ///< `adapter` is in host memory; or its files will not do: `problem`
    adapter_ready,  ///< `adapter` is on the device
    adapter_failed  ///< its files will not do: `problem`
  };
  kind what = kind::loaded;
  std::string problem;
  engine_facts facts;
  std::vector<chosen_token> chosen;  ///< by entry of `llm_step::sampled`
  adapter_id adapter = base_model;
  duration took{};         ///< a step on the device; an adapter from the order on
  bool from_disk = false;  ///< an adapter was read; else it was still in host memory
  uint64_t bytes = 0;      ///< of an adapter on the device
};

/// One owner calls it.
class engine_device {
 public:
  virtual ~engine_device() = default;

  /// Runs some layers of a step (BlitzScale §5.2 runs the first ones here while later ones arrive). `step`,
  /// `samplings` (one for each entry of `step.sampled`; none if the head is not run) and what they point to
  /// stay as they are until it is done. Steps run one after the other, and what they tell comes in their
  /// order; of one that was started while another was under way, which both are whole ones, rows may take
  /// tokens that this other one chooses (`chosen_before`). Requires: those layers are ready, no more steps
  /// are under way than `steps_ahead`, its adapters are on the device and stay there.
  virtual void start(const llm_step& step, std::span<const token_sampling> samplings,
                     const layer_range& layers) = 0;
  /// All of them.
  void start(const llm_step& step, std::span<const token_sampling> samplings) { start(step, samplings, {}); }
  /// The next thing that has happened, once each, in order.
  virtual bool poll(time_point now, engine_event& out) = 0;
  /// When to poll next: an emulated device knows; a real one says `never` and calls `ready`.
  virtual time_point poll_at() const { return never; }

  /// Brings the adapter of this folder into host memory, if there is room: to check it.
  virtual void read_adapter(adapter_id id, const std::string& folder) = 0;
  /// Brings the adapter of this folder onto the device. At most `adapter_slots` are there, or on their way,
  /// at once.
  virtual void load_adapter(adapter_id id, const std::string& folder) = 0;
  /// Frees its slot. Nothing is told of it any more, if it was still on its way. Requires: no step uses it.
  virtual void unload_adapter(adapter_id id) = 0;

  /// The KV cache, for who moves blocks: `facts.blocks` of `facts.block_bytes` each, one after the other. The
  /// device's, until `stop`; empty if it is not in one piece. Between steps only, but for blocks that no step
  /// uses. Requires: facts were told.
  virtual std::span<std::byte> kv_memory() = 0;

  /// Ends: nothing of a step is read any more, and `ready` is not called. Nothing may follow. Twice is once.
  virtual void stop() = 0;
};

}  // namespace troupe::llm
