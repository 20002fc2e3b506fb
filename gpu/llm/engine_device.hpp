// What an engine runs its steps on: one language model on one device, with room for some adapters. Three
// kinds behind one interface, as for tensor models (gpu/device.hpp).
//
// Everything that takes long goes on beside the caller: loading the model, reading adapters and bringing them
// onto the device, steps. The device calls its `ready` function, from a thread of its own, when `poll` has
// something to tell.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "messages/llm_step.hpp"
#include "messages/time.hpp"
#include "messages/token_choice.hpp"

namespace troupe::llm {

/// What a device says of its model once that is loaded.
struct engine_facts {
  uint32_t vocabulary = 0;
  uint32_t max_positions = 0;
  uint32_t blocks = 0;  ///< of its KV cache
  uint32_t block_tokens = 0;
  uint64_t weight_bytes = 0;
  std::vector<token> end_of_text;  ///< unless a request says otherwise, these end a text
};

/// What has happened on a device.
struct engine_event {
  enum class kind : uint8_t {
    loaded,         ///< the model: `facts`
    unusable,       ///< the model cannot be loaded: `problem`
    step_done,      ///< `chosen`
    step_failed,    ///< `problem`; the KV cache holds nothing any more
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

  /// Runs a step. `step`, `wishes` (one for each entry of `step.sampled`) and what they point to stay as they
  /// are until it is done. Requires: loaded, no step is under way, its adapters are on the device.
  virtual void start(const llm_step& step, std::span<const choice_wish> wishes) = 0;
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

  /// Ends: nothing of a step is read any more, and `ready` is not called. Nothing may follow. Twice is once.
  virtual void stop() = 0;
};

}  // namespace troupe::llm
