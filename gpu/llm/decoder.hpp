// A language model's layers on a CPU: what one step of an engine computes. Weights, KV pages and adapters
// live here.
//
// A row's numbers depend on its own sequence and adapter alone, bit for bit: not on what else is in the step,
// how a prompt was cut into chunks, which blocks it got, or how many threads there are (gpu/kernels/).
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "gpu/checkpoint/adapter.hpp"
#include "gpu/checkpoint/parameters.hpp"
#include "gpu/llm/activation.hpp"
#include "messages/common/time.hpp"
#include "messages/llm/step.hpp"

namespace troupe::llm {

class adapter_weights;

struct decoder_options {
  element weights = element::f32;  ///< what the projections are kept and read as; they calculate in f32
  element kv = element::f32;       ///< of the KV pages
  uint32_t blocks = 0;             ///< of the KV cache
  uint32_t block_tokens = 16;
};

/// How long the kernels of each kind took. The rest of a call's time is work of the host.
struct kernel_times {
  duration projections{}, adapters{}, attention{}, others{};
  uint32_t launches = 0;  ///< of kernels, each between two readings of the clock
  duration sum() const { return projections + adapters + attention + others; }
};

/// One caller at a time, but for `load` of a layer, which may run beside steps of other layers.
class decoder {
 public:
  /// Throws model_error if the KV cache does not fit into memory.
  decoder(model_config config, decoder_options options);
  const decoder_options& options() const;
  ~decoder();
  decoder(decoder&&) noexcept;

  const model_config& config() const;

  /// Takes a layer of the checkpoint (numbered as there), packed as the kernels want it. In any order.
  /// Requires: layer < config().layers + 2.
  void load(uint32_t layer, const layer_parameters& parameters);
  /// Layers [0, n) are loaded.
  uint32_t ready_layers() const;

  /// Takes an adapter under this id, in place of the one that had it. `a` may go afterwards.
  void load(adapter_id id, const adapter& a);
  /// The same for one that was packed already, for this model's layers and weights' type.
  void load(adapter_id id, std::shared_ptr<const adapter_weights> a);
  /// Requires: no step uses it any more.
  void unload(adapter_id id);
  /// On the device, of all adapters.
  uint64_t adapter_bytes() const;

  /// Runs layers [first, end) of the checkpoint on a step's rows; `x` is what the layer before gave, and what
  /// the last one gives. Layer 0, the embedding, ignores what `x` holds. Writes keys and values of the step's
  /// rows into its blocks. Requires: first <= end <= config().layers + 1, those layers and the step's
  /// adapters are loaded.
  void run(const llm_step& step, uint32_t first, uint32_t end, activation& x);

  /// The final norm and the head, for some rows: `logits` is [rows.size(), config().vocabulary]. Requires:
  /// that layer is loaded (and the embedding, if tied).
  void head(const activation& x, std::span<const uint32_t> rows, std::span<float> logits);

  /// From now on adds up in `sum`, by `c`, what kernels take; both stay where they are. Null: no more.
  void time_kernels(const clock* c, kernel_times* sum);

  /// The KV cache, for who moves blocks: one after the other, each [layers, 2, kv_heads, block_tokens,
  /// head_dim] (Punica §5).
  std::span<std::byte> blocks() const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace troupe::llm
