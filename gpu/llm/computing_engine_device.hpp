// An engine's device that computes. One thread runs steps on a model (gpu/llm/step_model.hpp); another loads
// adapters (gpu/llm/adapter_loader.hpp).
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>

#include "gpu/llm/engine_device.hpp"
#include "gpu/llm/step_model.hpp"

namespace troupe::llm {

class image_set;

struct computing_options {
  std::filesystem::path folder;  ///< of the checkpoint
  uint32_t adapter_slots = 0;    ///< adapters resident or loading at once
  uint64_t adapter_bytes = 0;    ///< limit of the adapter store in host memory
  /// Called once, on the device's thread. Throws model_error if the model cannot be run.
  std::function<std::unique_ptr<step_model>(const model_config&)> make;
  /// Called once, on the device's thread: images that a loader writes, for the model to adopt. Null: the
  /// device reads the layers itself, between two steps. Throws model_error or std::bad_alloc.
  std::function<std::shared_ptr<image_set>()> images;
};

/// Starts to load the model at once and reports layers as they become ready. After `unusable` there is no
/// event. A step of ready layers runs between the loading of two others. A step that throws has failed; the
/// device goes on, unless the exception is device_lost (gpu/common/device_lost.hpp). Adapters may be ordered
/// before the model is loaded. They are read and packed concurrently with steps, and installed between two
/// steps. A step that is started ahead is begun at once, if the model supports it (step_model::begin).
class computing_engine_device : public engine_device {
 public:
  /// `ready` is called from the device's thread, without a lock, after each event, until the destructor
  /// returns. `c` must outlive the device.
  computing_engine_device(const clock& c, std::function<void()> ready, computing_options options);
  /// Ends running work early, without events: after the layer being loaded, a few layers of a long step, or
  /// the adapter being read.
  ~computing_engine_device() override;

  using engine_device::start;
  void start(const llm_step& step, std::span<const token_sampling> samplings,
             const layer_range& layers) override;
  bool poll(time_point now, engine_event& out) override;
  void read_adapter(adapter_id id, const std::string& folder) override;
  void load_adapter(adapter_id id, const std::string& folder) override;
  void unload_adapter(adapter_id id) override;
  kv_cache_memory kv_memory() override;
  void stop() override;

 private:
  struct worker;
  std::unique_ptr<worker> worker_;
};

}  // namespace troupe::llm
