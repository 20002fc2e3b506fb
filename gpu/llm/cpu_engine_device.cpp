#include "gpu/llm/cpu_engine_device.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "gpu/common/model_error.hpp"
#include "gpu/kernels/paged_kv.hpp"
#include "gpu/llm/adapter_weights.hpp"
#include "gpu/llm/choose_tokens.hpp"
#include "gpu/llm/decoder.hpp"
#include "gpu/llm/image_library.hpp"

namespace troupe::llm {
namespace {

/// Rows times layers of a step between two checks of the stop flag. Decode steps run all layers at once.
constexpr uint32_t rows_times_layers = 512;
constexpr uint32_t max_block_tokens = 4096;

uint32_t blocks_of(const cpu_engine_options& o, const model_config& model) {
  if (o.block_tokens == 0 || o.block_tokens > max_block_tokens)
    throw model_error(fmt::format("a block of the KV cache holds 1 to {} tokens, not {}", max_block_tokens,
                                  o.block_tokens));
  const kernels::paged_kv kv{nullptr, o.kv, model.layers, model.kv_heads, o.block_tokens, model.head_dim};
  const uint64_t blocks = o.kv_bytes / kv.page_bytes();
  if (blocks == 0)
    throw model_error(fmt::format(
        "{}: a KV cache of {} bytes has no room for one block of {} tokens, {} bytes: increase it",
        o.folder.string(), o.kv_bytes, o.block_tokens, kv.page_bytes()));
  return static_cast<uint32_t>(std::min<uint64_t>(blocks, std::numeric_limits<uint32_t>::max()));
}

class cpu_model final : public step_model {
 public:
  cpu_model(const cpu_engine_options& o, const model_config& config)
      : decoder_(config, {o.weights, o.kv, blocks_of(o, config), o.block_tokens, o.kv_memory}) {}

  engine_facts facts() const override {
    const auto& o = decoder_.options();
    engine_facts f;
    f.blocks = o.blocks, f.block_tokens = o.block_tokens,
    f.block_bytes = decoder_.blocks().bytes.size() / o.blocks;
    return f;
  }
  uint64_t load(uint32_t layer, const layer_parameters& parameters) override {
    decoder_.load(layer, parameters);
    return decoder_.image(layer).size();
  }
  uint64_t adopt(uint32_t layer, const std::shared_ptr<const image_set>& images) override {
    decoder_.adopt(layer, images->format().table, images->image(layer), images);
    return images->image(layer).size();
  }
  std::shared_ptr<const packed_adapter> pack(const adapter& read) override {
    return std::make_shared<const adapter_weights>(read, decoder_.config().layers,
                                                   decoder_.options().weights);
  }
  void load(adapter_id id, std::shared_ptr<const packed_adapter> adapter) override {
    decoder_.load(id, std::static_pointer_cast<const adapter_weights>(std::move(adapter)));
  }
  void unload(adapter_id id) override { decoder_.unload(id); }

  void begin(const llm_step& step, std::span<const token_sampling> samplings, uint32_t first, uint32_t end,
             activation* x) override {
    started_ = {&step, samplings, first, end, x};
  }
  bool is_ready() override { return true; }
  bool finish(std::vector<chosen_token>& chosen, const std::atomic<bool>& stopping) override {
    const auto& [given, samplings, first, end, given_x] = started_;
    const llm_step& step = *given;
    const uint32_t head = decoder_.config().layers + 1;
    activation& x = given_x != nullptr ? *given_x : own_x_;
    const uint32_t some = std::max(1U, rows_times_layers / step.rows()), stop = std::min(end, head);
    for (uint32_t l = first; l < stop; l += some) {
      if (stopping) return false;
      decoder_.run(step, l, std::min(l + some, stop), x);
    }
    if (end <= head) return true;
    const uint32_t vocabulary = decoder_.config().vocabulary;
    logits_.resize(step.sampled.size() * vocabulary);
    if (!step.sampled.empty()) decoder_.head(x, step.sampled, logits_);
    choose_tokens(logits_, vocabulary, samplings, chosen);
    return true;
  }
  kv_cache_memory kv_memory() override { return decoder_.blocks(); }

 private:
  decoder decoder_;
  struct {
    const llm_step* step = nullptr;
    std::span<const token_sampling> samplings;
    uint32_t first = 0, end = 0;
    activation* x = nullptr;
  } started_;
  activation own_x_;
  std::vector<float> logits_;
};

}  // namespace

computing_options on_cpu(cpu_engine_options o) {
  computing_options out;
  out.folder = o.folder, out.adapter_slots = o.adapter_slots, out.adapter_bytes = o.adapter_bytes;
  out.images = o.images;
  if (!out.images)
    out.images = [library = o.library ? o.library : std::make_shared<image_library>(), folder = o.folder,
                  weights = o.weights,
                  threads = o.threads] { return library->open(folder, weights, threads); };
  out.make = [o = std::move(o)](const model_config& config) -> std::unique_ptr<step_model> {
    omp_set_num_threads(std::max(1, o.threads));  // for this thread, which runs the steps
    return std::make_unique<cpu_model>(o, config);
  };
  return out;
}

cpu_engine_device::cpu_engine_device(const clock& c, std::function<void()> ready, cpu_engine_options options)
    : computing_engine_device(c, std::move(ready), on_cpu(std::move(options))) {}

}  // namespace troupe::llm
