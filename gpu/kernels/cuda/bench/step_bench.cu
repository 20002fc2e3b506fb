// Benchmark of a decode step of a model with Llama-2-7B's shapes, as an engine runs it: one graph, tables on
// the device. Without the copies of tables and chosen tokens, and without host work between steps.
#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>

#include "gpu/kernels/cuda/bench/bench.hpp"
#include "gpu/kernels/cuda/cuda_machine.cuh"
#include "gpu/llm/cuda/decoder_step.hpp"

namespace troupe::cuda {

namespace {

constexpr element type = element::bf16;
using machine = cuda_machine<8>;

struct step_load {
  uint32_t sequences = 32;
  uint32_t tokens = 512;   ///< context of each sequence, including this step's token
  uint32_t rank = 0;       ///< of each sequence's own adapter; 0: no adapters
  uint32_t kv_heads = 32;  ///< of 32
};

/// Random weights and caches on the device, and the number of bytes that a step reads.
class step_data {
 public:
  step_data(bench& b, const step_load& load) : b_(b), load_(load) {
    shape_.layers = 32, shape_.hidden = 4096, shape_.intermediate = 11008, shape_.heads = 32;
    shape_.kv_heads = load.kv_heads, shape_.head_dim = 128, shape_.vocabulary = 32000;
    shape_.norm_epsilon = 1e-5F, shape_.block_tokens = 16;
    make_weights();
    make_tables();
    make_adapters();
    check(cudaStreamSynchronize(b.stream()), "random weights");
  }

  double bytes() const { return bytes_; }
  void launch(machine& m) {
    step_extent extent = room_;
    extent.decode_items = 1;  // as in an engine's graph
    decoder_step<machine, type> s(
        m, shape_, step_tables(tables_.data(), *layout_), activations_,
        {pages_.data(), shape_.layers, shape_.kv_heads, shape_.block_tokens, shape_.head_dim}, adapters_,
        extent);
    s.embed(embedding_);
    s.rope_angles(frequencies_.as<float>());
    for (uint32_t l = 0; l < shape_.layers; ++l) s.layer(l, layers_[l], 0, l > 0);
    s.head(norm_, head_, true);
    s.sample();
  }

 private:
  /// Allocates [count] random numbers. `read`: a step reads them.
  void* numbers(size_t count, float scale, bool read = true) {
    pieces_.emplace_back(count * 2);
    b_.fill(pieces_.back().data(), count, type, scale);
    if (read) bytes_ += static_cast<double>(count) * 2;
    return pieces_.back().data();
  }

  void make_weights() {
    const size_t hidden = shape_.hidden, inner = shape_.intermediate;
    embedding_ = numbers(shape_.vocabulary * hidden, 1, false);
    head_ = numbers(shape_.vocabulary * hidden, 0.02F);
    norm_ = numbers(hidden, 1);
    for (uint32_t l = 0; l < shape_.layers; ++l) {
      layer_pointers w;
      w.input_norm = numbers(hidden, 1), w.post_norm = numbers(hidden, 1);
      w.qkv = numbers(shape_.qkv_width() * hidden, 0.02F), w.o = numbers(hidden * shape_.q_width(), 0.02F);
      w.gate_up = numbers(2 * inner * hidden, 0.02F), w.down = numbers(hidden * inner, 0.02F);
      layers_.push_back(w);
    }
    std::vector<float> frequencies;
    for (uint32_t i = 0; i < shape_.head_dim / 2; ++i)
      frequencies.push_back(
          std::pow(10000.0F, -2.0F * static_cast<float>(i) / static_cast<float>(shape_.head_dim)));
    frequencies_ = on_device(frequencies);
  }

  /// Scatters the pages of each sequence, as after hours of service.
  void make_tables() {
    const uint32_t n = load_.sequences, each = ceil_div(load_.tokens, shape_.block_tokens), all = n * each;
    std::vector<uint32_t> rows(n), positions(n, load_.tokens - 1);
    for (uint32_t i = 0; i < n; ++i) rows[i] = i;
    attention_plan plan;
    plan.make(rows, positions);
    std::vector<uint32_t> ends(n + 1), slots(n, load_.rank > 0 ? 0 : no_adapter);
    for (uint32_t i = 0; i <= n; ++i) ends[i] = i;
    for (uint32_t i = 0; i < n && load_.rank > 0; ++i) slots[i] = i;
    std::vector<lora_tile> tiles;
    cut_lora_tiles(ends, slots, lora_tile_rows(n), tiles);

    room_.rows = room_.sampled = room_.sequences = n, room_.block_entries = all;
    room_.tiles = static_cast<uint32_t>(tiles.size());
    room_.decode_items = static_cast<uint32_t>(plan.decode.size());
    layout_.emplace(room_);
    std::vector<std::byte> host(layout_->bytes);
    const step_tables to(host.data(), *layout_);
    *to.counts = {n, n, room_.decode_items, 0};
    for (uint32_t i = 0; i < n; ++i) {
      to.tokens[i] = 1 + i, to.positions[i] = positions[i], to.row_sequence[i] = to.sampled[i] = i;
      to.block_start[i] = i * each;
    }
    to.block_start[n] = all;
    for (uint32_t i = 0; i < all; ++i) to.blocks[i] = static_cast<uint32_t>(uint64_t{i} * 7919 % all);
    std::ranges::copy(tiles, to.tiles);
    std::ranges::copy(plan.decode, to.decode_items);
    tables_ = on_device(host);

    step_activations none;
    memory_ = zeros_on_device(none.place(nullptr, shape_, room_));
    activations_.place(memory_.data(), shape_, room_);
    const size_t page = size_t{shape_.layers} * 2 * shape_.kv_heads * shape_.block_tokens * shape_.head_dim;
    pages_ = device_memory(page * all * 2);
    b_.fill(pages_.data(), page * all, type, 1);
    bytes_ += 4.0 * shape_.layers * shape_.kv_width() * n * load_.tokens;
  }

  void make_adapters() {
    if (load_.rank == 0) return;
    const uint32_t ins[] = {4096, 4096, 4096, 4096, 4096, 4096, 11008};
    const uint32_t kv = shape_.kv_width(), outs[] = {4096, kv, kv, 4096, 11008, 11008, 4096};
    std::vector<lora_matrices> matrices;  // [slots, layers, projections]
    for (uint32_t i = 0; i < load_.sequences * shape_.layers; ++i)
      for (uint32_t p = 0; p < adapter_slots::projections; ++p) {
        lora_matrices m;
        m.a = numbers(packed_a_bytes(load_.rank, ins[p]) / 2, 0.02F);
        m.b = numbers(packed_b_bytes(load_.rank, outs[p]) / 2, 0.02F);
        m.ranks = lora_ranks(load_.rank);
        matrices.push_back(m);
      }
    slots_ = on_device(matrices);
    adapters_ = {slots_.as<lora_matrices>(), lora_ranks(load_.rank)};
  }

  bench& b_;
  const step_load load_;
  decoder_shape shape_;
  double bytes_ = 0;
  std::vector<device_memory> pieces_;
  const void *embedding_ = nullptr, *head_ = nullptr, *norm_ = nullptr;
  std::vector<layer_pointers> layers_;
  device_memory frequencies_, pages_, memory_, tables_, slots_;
  adapter_slots adapters_;
  step_extent room_;
  std::optional<table_layout> layout_;
  step_activations activations_;
};

/// Microseconds of a step, the median over replays: one graph, as in an engine.
double step_us(step_data& data) {
  machine m;
  const auto step = [&] { m.replay(0, [&] { data.launch(m); }); };
  data.launch(m);  // cuBLASLt chooses its algorithms outside of the capture
  step();          // captures the graph
  m.finish();
  if (m.graphs() == 0) throw std::runtime_error("a step is no graph: " + m.graph_error());
  constexpr size_t warm_up = 5, replays = 50;
  const std::vector<stream_event> between(replays + 1);
  // enqueued at once: a replay that waits for the host would include the launch latency
  for (size_t i = 0; i < warm_up + replays; ++i) {
    if (i >= warm_up) between[i - warm_up].record(m.stream());
    step();
  }
  between.back().record(m.stream());
  std::vector<double> times;
  for (size_t i = 0; i < replays; ++i)
    times.push_back(static_cast<double>(between[i + 1].since(between[i]).count()) * 1e-3);
  std::ranges::nth_element(times, times.begin() + replays / 2);
  return times[replays / 2];
}

/// The products of a layer of Llama-2-7B, the largest part of a step's time.
void bench_products(bench& b, uint32_t rows) {
  struct product {
    const char* name;
    uint32_t in, out;
  };
  for (const auto& [name, in, out] : {product{"q/k/v", 4096, 12288}, product{"o", 4096, 4096},
                                      product{"gate/up", 4096, 22016}, product{"down", 11008, 4096}}) {
    const size_t count = size_t{in} * out;
    const double bytes = 2.0 * static_cast<double>(count + size_t{rows} * (in + out));
    const uint32_t sets = bench::cold_sets(2.0 * static_cast<double>(count));
    const device_memory x(size_t{rows} * in * 2), w(sets * count * 2), y(size_t{rows} * out * 2);
    b.fill(x.data(), x.size() / 2, type, 1);
    b.fill(w.data(), w.size() / 2, type, 0.02F);
    gemm products;
    const double us = b.time(sets, [&](cudaStream_t stream, uint32_t i) {
      gemm_args a;
      a.x = x.data(), a.w = w.as<uint16_t>() + i * count, a.y = y.data(), a.y_stride = out;
      a.rows = rows, a.in = in, a.out = out, a.type = type;
      products.run(a, stream);
    });
    b.add({"gemm bf16",
           std::string(name) + ", " + std::to_string(rows) + " x " + std::to_string(in) + " -> " +
               std::to_string(out),
           us, bytes, 0});
  }
}

}  // namespace

void bench_step(bench& b) {
  if (b.wanted("gemm bf16")) bench_products(b, 32);
  if (!b.wanted("decode step")) return;
  for (const step_load& load :
       {step_load{1, 512, 0, 32}, step_load{32, 512, 0, 32}, step_load{32, 512, 16, 32},
        step_load{32, 512, 64, 32}, step_load{64, 512, 0, 32}, step_load{32, 2048, 0, 32},
        step_load{32, 2048, 0, 8}}) {
    step_data data(b, load);
    const std::string adapters = load.rank > 0 ? " r" + std::to_string(load.rank) + " distinct" : "";
    b.add({"decode step, 7B bf16",
           "batch " + std::to_string(load.sequences) + " kv " + std::to_string(load.tokens) +
               " heads 32:" + std::to_string(load.kv_heads) + adapters,
           step_us(data), data.bytes(), 0});
  }
}

}  // namespace troupe::cuda
