// An engine's device that is loaded and unloaded: between `unload` and the next `load` there is no model, no
// KV cache and no thread.
#pragma once
#include <functional>
#include <memory>
#include <utility>

#include "gpu/llm/engine_device.hpp"

namespace troupe::llm {

class staged_engine_device final : public engine_device {
 public:
  /// Makes a device, which begins to load its model.
  using factory = std::function<std::unique_ptr<engine_device>()>;
  staged_engine_device(factory make, engine_facts expected)
      : make_(std::move(make)), expected_(std::move(expected)) {}

  void load() override {
    if (!device_) device_ = make_();
  }
  /// Waits for the end of a step or of the loading of a layer.
  void unload() override { device_.reset(); }
  engine_facts expected() const override { return expected_; }

  using engine_device::start;
  void start(const llm_step& step, std::span<const token_sampling> samplings,
             const layer_range& layers) override {
    device_->start(step, samplings, layers);
  }
  bool poll(time_point now, engine_event& out) override { return device_ && device_->poll(now, out); }
  time_point poll_at() const override { return device_ ? device_->poll_at() : never; }
  void read_adapter(adapter_id id, const std::string& folder) override { device_->read_adapter(id, folder); }
  void load_adapter(adapter_id id, const std::string& folder) override { device_->load_adapter(id, folder); }
  void unload_adapter(adapter_id id) override { device_->unload_adapter(id); }
  kv_cache_memory kv_memory() override { return device_ ? device_->kv_memory() : kv_cache_memory{}; }
  void on_kv_written(std::span<const uint32_t> blocks) override { device_->on_kv_written(blocks); }
  void stop() override {
    if (device_) device_->stop();
  }

 private:
  const factory make_;
  const engine_facts expected_;
  std::unique_ptr<engine_device> device_;
};

}  // namespace troupe::llm
