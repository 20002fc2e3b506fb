// An engine's device that really computes: a thread of its own runs steps on a model
// (gpu/llm/step_model.hpp), a second one brings adapters (gpu/llm/adapter_loader.hpp).
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>

#include "gpu/llm/engine_device.hpp"
#include "gpu/llm/step_model.hpp"

namespace troupe::llm {

struct computing_options {
  std::filesystem::path folder;  ///< of the checkpoint
  uint32_t adapter_slots = 0;    ///< adapters there, or on their way, at once
  uint64_t adapter_bytes = 0;    ///< of the adapters that are kept in host memory beside them
  /// Called once, on the device's thread. Throws model_error if the model cannot be run.
  std::function<std::unique_ptr<step_model>(const model_config&)> make;
};

/// It begins to load the model at once and tells of each layer, unless the model is `unusable`: after that
/// there is no event. A step of layers that are there runs between two that are loaded. A step that throws
/// has failed; the device goes on, unless it is device_lost (gpu/common/device_lost.hpp). Adapters may be
/// ordered before the model is there. One that was read or packed beside a step takes its place between two.
/// A step that is started ahead is begun at once, if the model can do that (step_model::begin).
class computing_engine_device : public engine_device {
 public:
  /// `ready` is called from the device's thread, without a lock, after each event; until the destructor
  /// returns. `c` must outlive the device.
  computing_engine_device(const clock& c, std::function<void()> ready, computing_options options);
  /// Whatever is under way ends early, and nothing is told of it: after a layer that is loaded, a few layers
  /// of a long step, or an adapter that is read.
  ~computing_engine_device() override;

  using engine_device::start;
  void start(const llm_step& step, std::span<const token_sampling> samplings,
             const layer_range& layers) override;
  bool poll(time_point now, engine_event& out) override;
  void read_adapter(adapter_id id, const std::string& folder) override;
  void load_adapter(adapter_id id, const std::string& folder) override;
  void unload_adapter(adapter_id id) override;
  std::span<std::byte> kv_memory() override;
  void stop() override;

 private:
  struct worker;
  std::unique_ptr<worker> worker_;
};

}  // namespace troupe::llm
