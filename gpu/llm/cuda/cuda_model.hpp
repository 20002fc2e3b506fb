// The CUDA decoder as an engine's device drives it. Machine is cuda_machine, or the tests' emulated_machine.
#pragma once
#include <chrono>
#include <memory>
#include <unordered_map>
#include <utility>

#include "gpu/llm/cuda/cuda_decoder.hpp"
#include "gpu/llm/step_model.hpp"

namespace troupe::cuda {

struct cuda_model_options {
  uint64_t kv_bytes = 0;  ///< of the KV cache: as many blocks as go into it, at least one
  uint32_t block_tokens = 16;
  uint32_t adapter_slots = 0;
  bool graphs = true;
};

template <class Machine, element E>
class cuda_model final : public llm::step_model {
 public:
  /// Throws model_error if the model cannot be run, or what the machine throws if there is no room.
  cuda_model(std::unique_ptr<Machine> machine, const llm::model_config& config,
             const cuda_model_options& options)
      : machine_(std::move(machine)),
        config_(config),
        blocks_(kv_blocks(config, options.kv_bytes, options.block_tokens)),
        decoder_(*machine_, config, {blocks_, options.block_tokens, options.adapter_slots, options.graphs}) {}
  /// A step may be under way, with all that goes now.
  ~cuda_model() override { machine_->quiesce(); }

  llm::engine_facts facts() const override {
    llm::engine_facts f;
    f.blocks = blocks_, f.block_tokens = decoder_.shape().block_tokens, f.block_bytes = decoder_.page_bytes();
    f.steps_ahead = 1;
    f.longest_step = std::chrono::minutes(2);  // a hundred times what the largest prompt takes
    return f;
  }
  uint64_t load(uint32_t layer, const llm::layer_parameters& parameters) override {
    const layer_image image(parameters, E);
    decoder_.load(layer, image);
    return image.bytes().size();
  }
  std::shared_ptr<const llm::packed_adapter> pack(const llm::adapter& read) override {
    return std::make_shared<const resident_adapter>(
        *machine_, adapter_image(llm::adapter_weights(read, config_.layers, E), config_));
  }
  void load(llm::adapter_id id, std::shared_ptr<const llm::packed_adapter> adapter) override {
    const auto& there = static_cast<const resident_adapter&>(*adapter);
    decoder_.load(id, there.image, there.memory.data());
    adapters_[id] = std::move(adapter);
  }
  void unload(llm::adapter_id id) override {
    decoder_.unload(id);
    adapters_.erase(id);
  }
  void begin(const llm::llm_step& step, std::span<const llm::token_sampling> samplings, uint32_t first,
             uint32_t end, llm::activation* x) override {
    decoder_.begin(step, samplings, first, end, x);
  }
  bool is_ready() override { return decoder_.is_ready(); }
  bool finish(std::vector<llm::chosen_token>& chosen, const std::atomic<bool>&) override {
    decoder_.finish(chosen);
    return true;
  }
  /// On the device.
  std::span<std::byte> kv_memory() override { return decoder_.pages(); }

 private:
  struct resident_adapter final : llm::packed_adapter {
    resident_adapter(Machine& machine, adapter_image made)
        : image(std::move(made)),
          memory(machine.upload_on_copy_stream(image.bytes().data(), image.bytes().size())) {
      image.drop_bytes();
    }
    uint64_t bytes() const override { return memory.size(); }
    adapter_image image;
    typename Machine::copy_stream_memory memory;
  };

  std::unique_ptr<Machine> machine_;
  const llm::model_config config_;
  const uint32_t blocks_;
  cuda_decoder<Machine, E> decoder_;
  std::unordered_map<llm::adapter_id, std::shared_ptr<const llm::packed_adapter>> adapters_;
};

}  // namespace troupe::cuda
