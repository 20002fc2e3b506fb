// A language model's layers on a CPU: computes the steps of an engine, and owns weights, KV pages and
// adapters.
//
// Batch-invariant: a row's numbers depend on its own sequence and adapter alone, bit for bit. They do not
// depend on the other rows of the step, the chunks of a prompt, the blocks, or the number of threads.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "gpu/checkpoint/adapter.hpp"
#include "gpu/checkpoint/parameters.hpp"
#include "gpu/llm/activation.hpp"
#include "gpu/llm/engine_device.hpp"
#include "gpu/llm/image_memory.hpp"
#include "gpu/llm/kernel_timer.hpp"
#include "messages/llm/step.hpp"

namespace troupe::llm {

class adapter_weights;

struct decoder_options {
  element weights = element::f32;  ///< stored type of the projections; they calculate in f32
  element kv = element::f32;       ///< of the KV pages
  uint32_t blocks = 0;             ///< of the KV cache
  uint32_t block_tokens = 16;
  image_allocator kv_memory = heap_image_memory;
};

/// Not thread-safe, except that `load` of a layer may run concurrently with steps of other layers.
class decoder {
 public:
  /// Throws model_error if the KV cache does not fit into memory, or if heads are too wide. A model with
  /// LongRoPE has its long factors if the cache and the configuration allow sequences beyond its original
  /// context (rotary_embedding).
  decoder(model_config config, decoder_options options);
  const decoder_options& options() const;
  ~decoder();
  decoder(decoder&&) noexcept;

  const model_config& config() const;

  /// Packs a layer of the checkpoint, numbered as there, into an image of its own. In any order. Requires:
  /// layer < config().layers + 2.
  void load(uint32_t layer, const layer_view& parameters);
  void load(uint32_t layer, const layer_parameters& parameters) { load(layer, parameters.views()); }
  /// Uses an image of the layer (gpu/llm/layer_image.hpp), aligned as there, until this ends. `owner` keeps
  /// its memory. `table`: type of the embedding's table; the same in every call.
  void adopt(uint32_t layer, element table, std::span<const std::byte> image,
             std::shared_ptr<const void> owner);
  /// The image of a loaded layer.
  std::span<const std::byte> image(uint32_t layer) const;
  /// n: layers [0, n) are loaded.
  uint32_t ready_layers() const;

  /// Packs an adapter, and replaces one with the same id. `a` need not outlive the call.
  void load(adapter_id id, const adapter& a);
  /// The same for an adapter already packed for this model's layers and weight type.
  void load(adapter_id id, std::shared_ptr<const adapter_weights> a);
  /// Requires: no step uses the adapter.
  void unload(adapter_id id);
  /// Packed size of all adapters.
  uint64_t adapter_bytes() const;

  /// Runs layers [first, end) of the checkpoint on a step's rows. `x`: output of the layer before, replaced
  /// by the output of the last one. Layer 0, the embedding, ignores its input. Writes keys and values of the
  /// step's rows into its blocks. Requires: first <= end <= config().layers + 1; those layers and the step's
  /// adapters are loaded.
  void run(const llm_step& step, uint32_t first, uint32_t end, activation& x);

  /// Computes the final norm and the head for some rows: `logits` is [rows.size(), config().vocabulary].
  /// Requires: that layer is loaded (and the embedding, if tied).
  void head(const activation& x, std::span<const uint32_t> rows, std::span<float> logits);

  /// From now on adds the time of kernels, by `c`, to `sum`. Both must outlive this. Null: stops.
  void time_kernels(const clock* c, kernel_times* sum);

  /// The KV cache, for transfers of blocks: contiguous blocks, each [layers, 2, kv_heads, block_tokens,
  /// head_dim] (Punica §5).
  kv_cache_memory blocks() const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace troupe::llm
