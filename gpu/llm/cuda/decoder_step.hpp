// The kernels of a decoder's step, in order. Nothing allocates or waits, so that a stream capture becomes a
// graph, which runs later steps of at most this extent with other tables. With several ranks, these are the
// kernels of one rank's shard (gpu/llm/tensor_shard.hpp).
//
// A layer has 9 launches: norm, q/k/v, rotary embedding with KV append, attention, o; norm, gate/up, gate,
// down. Adapters add 4. lora_kernel runs before the product of its projection and writes the product's
// addend. So it reads adapter weights while its predecessor runs, which a cuBLASLt product may not allow.
#pragma once
#include <cmath>
#include <stdexcept>

#include "gpu/kernels/cuda/copy_kernel.hpp"
#include "gpu/kernels/cuda/embedding_kernel.hpp"
#include "gpu/kernels/cuda/gemm_args.hpp"
#include "gpu/kernels/cuda/lora_kernel.hpp"
#include "gpu/kernels/cuda/paged_decode_kernel.hpp"
#include "gpu/kernels/cuda/rms_norm_kernel.hpp"
#include "gpu/kernels/cuda/rope_kernel.hpp"
#include "gpu/kernels/cuda/sampling_kernel.hpp"
#include "gpu/kernels/cuda/silu_mul_kernel.hpp"
#include "gpu/kernels/cuda/warpgroup_prefill_kernel.hpp"
#include "gpu/llm/cuda/step_memory.hpp"

namespace troupe::cuda {

/// The adapters on the device, as lora_kernel reads them.
struct adapter_slots {
  static constexpr uint32_t projections = 7;  ///< q, k, v, o, gate, up, down
  const lora_matrices* matrices = nullptr;    ///< [slots, layers, projections]
  uint32_t max_ranks = 0;                     ///< of all adapters; 0: none
  bool wide_tiles = true;                     ///< wide tiles fit into a block's shared memory

  uint32_t tile_rows(uint32_t rows_of_step) const {
    return wide_tiles ? lora_tile_rows(rows_of_step) : narrow_tile;
  }
};

/// Machine is cuda_machine (gpu/kernels/cuda/cuda_machine.cuh), or the tests' emulated_machine.
template <class Machine, element E>
class decoder_step {
 public:
  decoder_step(Machine& m, const decoder_shape& shape, const step_tables& tables,
               const step_activations& activations, const kv_pages& kv, const adapter_slots& adapters,
               const step_extent& extent)
      : m_(m), shape_(shape), t_(tables), a_(activations), kv_(kv), adapters_(adapters), extent_(extent) {}

  /// Layer 0: the residual stream begins with rows of the table.
  void embed(const void* table) {
    embedding_kernel<E> k;
    k.rows = &t_.counts->rows, k.tokens = t_.tokens, k.before = a_.chosen, k.table = table;
    k.x = a_.residual, k.width = shape_.hidden;
    m_.run(k, k.grid(extent_.rows), false);  // not early: it follows copies of tables and x
  }
  /// Computes the angles of the rotary embedding, for all layers. frequencies: [head_dim / 2].
  void rope_angles(const float* frequencies) {
    rope_angles_kernel k;
    k.rows = &t_.counts->rows, k.positions = t_.positions, k.frequencies = frequencies;
    k.half = shape_.head_dim / 2, k.cosine = a_.cosine, k.sine = a_.sine;
    m_.run(k, k.grid(extent_.rows), false);
  }
  /// adds: the layer first adds `delta` of its predecessor to the residual stream.
  void layer(uint32_t index, const layer_pointers& w, uint32_t window, bool adds) {
    const uint32_t hidden = shape_.hidden, q = shape_.q_width(), kv = shape_.kv_width(),
                   all = shape_.qkv_width();
    norm(w.input_norm, adds, nullptr, extent_.rows, &t_.counts->rows);
    adapt(index, 0, a_.normed, hidden,
          {{q, at(a_.qkv, 0), all}, {kv, at(a_.qkv, q), all}, {kv, at(a_.qkv, q + kv), all}}, 3);
    multiply(a_.normed, w.qkv, w.qkv_bias, a_.qkv, hidden, all);
    rope_append_kernel<E> rope;
    rope.rows = &t_.counts->rows, rope.row_sequence = t_.row_sequence, rope.positions = t_.positions;
    rope.cosine = a_.cosine, rope.sine = a_.sine, rope.qkv = a_.qkv, rope.heads = shape_.heads;
    rope.kv = kv_, rope.table = t_.pages(), rope.layer = index;
    m_.run(rope, rope.grid(extent_.rows));
    switch (shape_.head_dim) {
      case 16: attend<16>(index, window); break;
      case 32: attend<32>(index, window); break;
      case 64: attend<64>(index, window); break;
      default: attend<128>(index, window);
    }
    adapt(index, 3, a_.attended, q, {{hidden, a_.delta, hidden}}, 1);
    multiply(a_.attended, w.o, w.o_bias, a_.delta, q, hidden);
    all_reduce_delta();

    const uint32_t width = shape_.intermediate;
    norm(w.post_norm, true, nullptr, extent_.rows, &t_.counts->rows);
    adapt(index, 4, a_.normed, hidden,
          {{width, a_.gate_up, 2 * width}, {width, at(a_.gate_up, width), 2 * width}}, 2);
    multiply(a_.normed, w.gate_up, w.gate_up_bias, a_.gate_up, hidden, 2 * width);
    silu_mul_kernel<E> gate;
    gate.rows = &t_.counts->rows, gate.gate_up = a_.gate_up, gate.out = a_.gated, gate.width = width;
    m_.run(gate, gate.grid(extent_.rows));
    adapt(index, 6, a_.gated, width, {{hidden, a_.delta, hidden}}, 1);
    multiply(a_.gated, w.down, w.down_bias, a_.delta, width, hidden);
    all_reduce_delta();
  }
  /// Adds the last layer's `delta` to the residual stream, if no head follows. Any norm's weights will do.
  void add_delta(const void* any_norm) { norm(any_norm, true, nullptr, extent_.rows, &t_.counts->rows); }
  /// The final norm and the head, for the sampled rows. Each rank computes its part of the logits; rank 0
  /// gathers them. Requires: at least one sampled row.
  void head(const void* final_norm, const void* weights, bool adds) {
    const bool early = adds;  // otherwise it follows copies
    norm(final_norm, adds, t_.sampled, extent_.sampled, &t_.counts->sampled, early);
    gemm_args g;
    g.x = a_.normed, g.w = weights, g.y = a_.logits, g.rows = extent_.sampled, g.in = shape_.hidden;
    g.out = shape_.part().count, g.y_stride = shape_.logits_stride(), g.type = E, g.float_y = true;
    if (g.out > 0) m_.multiply(g);
    if (shape_.ranks > 1) gather_logits();
  }
  /// Samples tokens from the logits. On rank 0.
  void sample() {
    sampling_kernel<Machine::cluster> k;
    k.rows = &t_.counts->sampled, k.logits = a_.logits, k.vocabulary = shape_.vocabulary;
    k.stride = shape_.logits_stride(), k.samplings = t_.samplings, k.tokens = t_.tokens;
    k.adjustments = t_.adjustments, k.out = a_.chosen;
    m_.run(k, k.grid(extent_.sampled));
  }
  /// Broadcasts rank 0's tokens, for the embedding of the next step.
  void broadcast_chosen() {
    if (m_.ranks() > 1) m_.broadcast(a_.chosen, extent_.sampled * sizeof(sampled_row));
  }

 private:
  using lora = lora_kernel<E, Machine::cluster>;
  /// Whether a kernel after a collective may start early. In a graph, the collective's last node may not be a
  /// kernel.
  bool early_after_collective() const { return m_.ranks() == 1; }
  static void* at(void* numbers, uint32_t offset) { return static_cast<uint16_t*>(numbers) + offset; }

  void norm(const void* weight, bool adds, const uint32_t* which, uint32_t max_rows, const uint32_t* rows,
            bool early = true) {
    rms_norm_kernel<E> k;
    k.rows = rows, k.which = which, k.x = a_.residual, k.delta = adds ? a_.delta : nullptr, k.weight = weight;
    k.out = a_.normed, k.width = shape_.hidden, k.epsilon = shape_.norm_epsilon;
    m_.run(k, k.grid(max_rows), early && early_after_collective());
  }
  /// Adds to y if adapters have written it.
  void multiply(const void* x, const void* w, const void* bias, void* y, uint32_t in, uint32_t out) {
    gemm_args g;
    g.x = x, g.w = w, g.bias = bias, g.y = y, g.rows = extent_.rows, g.in = in, g.out = out, g.y_stride = out;
    g.type = E, g.adds = extent_.tiles > 0;
    m_.multiply(g);
  }
  void adapt(uint32_t layer, uint32_t first, const void* x, uint32_t in,
             const typename lora::projection (&to)[lora::max_projections], uint32_t count) {
    if (extent_.tiles == 0) return;
    lora k;
    k.tiles = t_.tiles;
    k.adapters = adapters_.matrices + layer * adapter_slots::projections + first;
    k.adapter_stride = shape_.layers * adapter_slots::projections;
    k.x = x, k.x_stride = in, k.in = in;
    for (uint32_t p = 0; p < count; ++p) k.projections[p] = to[p];
    k.max_ranks = adapters_.max_ranks, k.tile_rows = adapters_.tile_rows(extent_.rows), k.adds = false;
    m_.run(k, k.grid(extent_.tiles, count));
  }
  /// Gathers the other ranks' parts one after the other, then copies them into rank 0's rows behind its own.
  void gather_logits() {
    const uint32_t part = shape_.part().max_count, others = shape_.ranks - 1, rows = extent_.sampled;
    m_.gather(shape_.rank == 0 ? a_.parts : a_.logits, size_t{rows} * part * sizeof(float));
    if (shape_.rank > 0) return;
    const uint32_t words = part / 4;  // of 16 bytes
    copy_kernel<16> k;
    k.walk = {3, {others, rows, words}}, k.count = others * rows * words;
    k.from_steps = {{rows * words, words, 1}};
    k.to_steps = {{words, shape_.logits_stride() / 4, 1}}, k.to_first = words;
    k.from = a_.parts, k.to = a_.logits;
    m_.run(k, k.grid(), early_after_collective());
  }
  void all_reduce_delta() {
    if (m_.ranks() > 1) m_.all_reduce(a_.delta, size_t{extent_.rows} * shape_.hidden, E);
  }
  template <uint32_t Dim>
  void attend(uint32_t layer, uint32_t window) {
    if (extent_.decode_items > 0 && shape_.heads / shape_.kv_heads <= 8) decode<Dim, 1>(layer, window);
    if (extent_.decode_items > 0 && shape_.heads / shape_.kv_heads > 8) decode<Dim, 2>(layer, window);
    if (extent_.prefill_items == 0) return;
    prefill_kernel<E, Dim, (Machine::cluster > 1)> k;
    set_up(k, layer, window);
    k.item_count = &t_.counts->prefill_items, k.items = t_.prefill_items;
    m_.run(k, k.grid(extent_.prefill_items));
  }
  template <uint32_t Dim, uint32_t Halves>
  void decode(uint32_t layer, uint32_t window) {
    paged_decode_kernel<E, Dim, Halves> k;
    set_up(k, layer, window);
    k.item_count = &t_.counts->decode_items, k.items = t_.decode_items;
    k.partial_out = a_.partial_out, k.partial_sums = a_.partial_sums, k.arrived = a_.arrived;
    m_.run(k, k.grid(m_.multiprocessors()));
  }
  template <class Kernel>
  void set_up(Kernel& k, uint32_t layer, uint32_t window) {
    k.q = a_.qkv, k.q_stride = shape_.qkv_width(), k.out = a_.attended, k.heads = shape_.heads;
    k.kv = kv_, k.table = t_.pages(), k.layer = layer, k.window = window;
    k.scale = 1.4426950408889634F / std::sqrt(static_cast<float>(shape_.head_dim));
  }

  Machine& m_;
  const decoder_shape shape_;
  const step_tables t_;
  const step_activations a_;
  const kv_pages kv_;
  const adapter_slots adapters_;
  const step_extent extent_;
};

}  // namespace troupe::cuda
