#include "gpu/llm/decoder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cmath>
#include <new>
#include <unordered_map>

#include "gpu/kernels/embedding.hpp"
#include "gpu/kernels/kv_append.hpp"
#include "gpu/kernels/paged_attention.hpp"
#include "gpu/kernels/rms_norm.hpp"
#include "gpu/kernels/rope.hpp"
#include "gpu/kernels/sgmv.hpp"
#include "gpu/kernels/silu_mul.hpp"
#include "gpu/llm/adapter_weights.hpp"
#include "gpu/llm/decoder_layer.hpp"
#include "gpu/model_error.hpp"

namespace troupe::llm {

struct decoder::state {
  state(model_config c, decoder_options o);

  void embed(const llm_step& step, activation& x) const;
  void attend(const llm_step& step, uint32_t layer, const float* added);
  void feed_forward(const llm_step& step, uint32_t layer);
  void normalise(const float* added, const std::vector<float>& weight, size_t rows);
  void gather_adapters(const llm_step& step);
  void adapt(const llm_step& step, uint32_t layer, projection p, const std::vector<float>& x, float* y,
             size_t stride);

  const model_config config;
  const decoder_options options;

  layer_parameters embedding;
  std::vector<decoder_layer> layers;
  std::vector<float> norm;
  linear head;
  std::vector<std::atomic<bool>> loaded;  // by the checkpoint's numbers
  std::unordered_map<adapter_id, adapter_weights> adapters;

  aligned_bytes pages;
  kernels::paged_kv kv;

  // of the step that runs; [rows, ...] each
  float* residual = nullptr;                             // [hidden]
  std::vector<float> normed;                             // [hidden]
  std::vector<float> qkv;                                // [q | k | v]
  std::vector<float> attended;                           // [q]
  std::vector<float> gate_up, gated;                     // [gate | up], [intermediate]
  std::vector<float> delta;                              // [hidden] what is to be added to the residual
  std::vector<const adapter_weights*> segment_adapters;  // null: the base model
  std::vector<kernels::lora_weights> segment_weights;    // of one projection
  uint32_t max_rank = 0;                                 // 0: only the base model
  std::vector<float> shrunk;                             // [max_rank]
};

decoder::state::state(model_config c, decoder_options o)
    : config(std::move(c)), options(o), layers(config.layers), loaded(config.layers + 2) {
  kv = {nullptr, o.kv, config.layers, config.kv_heads, o.block_tokens, config.head_dim};
  size_t bytes = 0;
  try {
    if (__builtin_mul_overflow(o.blocks, kv.page_bytes(), &bytes)) throw std::bad_alloc();
    pages = aligned_bytes(bytes);
  } catch (const std::bad_alloc&) {
    throw model_error(
        fmt::format("a KV cache of {} blocks of {} bytes does not fit into memory: ask for fewer tokens",
                    o.blocks, kv.page_bytes()));
  }
  kv.pages = pages.data();
}

decoder::decoder(model_config config, decoder_options options)
    : state_(std::make_unique<state>(std::move(config), options)) {}
decoder::~decoder() = default;
decoder::decoder(decoder&&) noexcept = default;

const model_config& decoder::config() const { return state_->config; }
const decoder_options& decoder::options() const { return state_->options; }

void decoder::load(uint32_t layer, const layer_parameters& p) {
  auto& s = *state_;
  assert(layer < s.config.layers + 2);
  const auto type = s.options.weights;
  if (layer == 0) {
    s.embedding = p;
    if (s.config.tied_embeddings) s.head = pack_linear(p, {"embed_tokens"}, type);
  } else if (layer <= s.config.layers) {
    s.layers[layer - 1] = pack_layer(p, type);
  } else {
    s.norm = floats_of(p, "norm.weight");
    if (!s.config.tied_embeddings) s.head = pack_linear(p, {"lm_head"}, type);
  }
  s.loaded[layer] = true;
}

uint32_t decoder::ready_layers() const {
  const auto& loaded = state_->loaded;
  return static_cast<uint32_t>(std::find(loaded.begin(), loaded.end(), false) - loaded.begin());
}

void decoder::load(adapter_id id, const adapter& a) {
  state_->adapters.insert_or_assign(id, adapter_weights(a, state_->config.layers, state_->options.weights));
}
void decoder::unload(adapter_id id) { state_->adapters.erase(id); }

uint64_t decoder::adapter_bytes() const {
  uint64_t sum = 0;
  for (const auto& [_, a] : state_->adapters) sum += a.bytes();
  return sum;
}

std::span<std::byte> decoder::block(uint32_t index) {
  const auto bytes = state_->kv.page_bytes();
  return {state_->pages.data() + index * bytes, bytes};
}

void decoder::state::embed(const llm_step& step, activation& x) const {
  const auto table = embedding.view(*embedding.find("embed_tokens.weight"));
  x.resize(size_t{step.rows()} * config.hidden);
  kernels::embedding({.tokens = reinterpret_cast<const uint32_t*>(step.tokens.data()),
                      .rows = step.rows(),
                      .table = table.bytes.data(),
                      .type = table.type,
                      .hidden = config.hidden,
                      .out = x.data(),
                      .out_stride = config.hidden});
}

void decoder::run(const llm_step& step, uint32_t first, uint32_t end, activation& x) {
  auto& s = *state_;
  const auto& c = s.config;
  assert(first <= end && end <= c.layers + 1);
  if (first == 0 && end > 0) s.embed(step, x);
  const uint32_t from = std::max(first, 1U);
  if (from >= end) return;

  const size_t rows = step.rows();
  s.residual = x.data();
  s.normed.resize(rows * c.hidden);
  s.qkv.resize(rows * (c.q_width() + 2 * c.kv_width()));
  s.attended.resize(rows * c.q_width());
  s.gate_up.resize(rows * 2 * c.intermediate);
  s.gated.resize(rows * c.intermediate);
  s.delta.resize(rows * c.hidden);
  s.gather_adapters(step);
  for (uint32_t l = from; l < end; ++l) {
    s.attend(step, l - 1, l == from ? nullptr : s.delta.data());
    s.feed_forward(step, l - 1);
  }
  for (size_t i = 0; i < x.size(); ++i) x[i] += s.delta[i];
}

/// `added`: what the layer before leaves to be added.
void decoder::state::attend(const llm_step& step, uint32_t layer, const float* added) {
  const auto& l = layers[layer];
  const size_t rows = step.rows(), q = config.q_width(), kv_width = config.kv_width(), all = q + 2 * kv_width;
  normalise(added, l.input_norm, rows);
  l.qkv.apply(normed.data(), qkv.data(), rows);
  float *const queries = qkv.data(), *const keys = queries + q, *const values = keys + kv_width;
  adapt(step, layer, projection::q, normed, queries, all);
  adapt(step, layer, projection::k, normed, keys, all);
  adapt(step, layer, projection::v, normed, values, all);
  kernels::rope({.q = queries,
                 .q_stride = all,
                 .k = keys,
                 .k_stride = all,
                 .rows = rows,
                 .heads = config.heads,
                 .kv_heads = config.kv_heads,
                 .head_dim = config.head_dim,
                 .positions = step.positions.data(),
                 .frequencies = config.rope_frequencies.data()});

  const kernels::block_table table{step.block_start.data(), step.blocks.data()};
  kernels::kv_append({.k = keys,
                      .v = values,
                      .k_stride = all,
                      .v_stride = all,
                      .rows = rows,
                      .row_sequence = step.row_sequence.data(),
                      .row_position = step.positions.data(),
                      .table = table,
                      .kv = kv,
                      .layer = layer});
  kernels::paged_attention({.q = queries,
                            .q_stride = all,
                            .out = attended.data(),
                            .out_stride = q,
                            .rows = rows,
                            .heads = config.heads,
                            .row_sequence = step.row_sequence.data(),
                            .row_position = step.positions.data(),
                            .table = table,
                            .kv = kv,
                            .layer = layer,
                            .window = config.window[layer],
                            .scale = 1 / std::sqrt(static_cast<float>(config.head_dim))});
  l.o.apply(attended.data(), delta.data(), rows);
  adapt(step, layer, projection::o, attended, delta.data(), config.hidden);
}

void decoder::state::feed_forward(const llm_step& step, uint32_t layer) {
  const auto& l = layers[layer];
  const size_t rows = step.rows(), width = config.intermediate;
  normalise(delta.data(), l.post_norm, rows);
  l.gate_up.apply(normed.data(), gate_up.data(), rows);
  float *const gate = gate_up.data(), *const up = gate + width;
  adapt(step, layer, projection::gate, normed, gate, 2 * width);
  adapt(step, layer, projection::up, normed, up, 2 * width);
  kernels::silu_mul({.gate = gate,
                     .up = up,
                     .gate_stride = 2 * width,
                     .up_stride = 2 * width,
                     .out = gated.data(),
                     .out_stride = width,
                     .rows = rows,
                     .width = width});
  l.down.apply(gated.data(), delta.data(), rows);
  adapt(step, layer, projection::down, gated, delta.data(), config.hidden);
}

void decoder::state::normalise(const float* added, const std::vector<float>& weight, size_t rows) {
  kernels::rms_norm({.residual = residual,
                     .residual_stride = config.hidden,
                     .x = added,
                     .x_stride = config.hidden,
                     .weight = weight.data(),
                     .epsilon = config.norm_epsilon,
                     .out = normed.data(),
                     .out_stride = config.hidden,
                     .rows = rows,
                     .width = config.hidden});
}

void decoder::state::gather_adapters(const llm_step& step) {
  segment_adapters.clear();
  max_rank = 0;
  for (const auto id : step.segment_adapters) {
    segment_adapters.push_back(id == base_model ? nullptr : &adapters.at(id));
    if (id != base_model) max_rank = std::max(max_rank, segment_adapters.back()->max_rank());
  }
  segment_weights.resize(segment_adapters.size());
  shrunk.resize(size_t{step.rows()} * max_rank);
}

/// Adds what the rows' adapters make of x [rows, in], contiguous, to y, whose rows are `stride` floats apart.
void decoder::state::adapt(const llm_step& step, uint32_t layer, projection p, const std::vector<float>& x,
                           float* y, size_t stride) {
  if (max_rank == 0) return;
  for (size_t i = 0; i < segment_weights.size(); ++i)
    segment_weights[i] =
        segment_adapters[i] == nullptr ? kernels::lora_weights{} : segment_adapters[i]->of(layer, p);
  kernels::lora({.segments = {step.segment_end.data(), segment_weights.data(),
                              static_cast<uint32_t>(segment_weights.size()), options.weights},
                 .x = x.data(),
                 .x_stride = config.in_of(p),
                 .in = config.in_of(p),
                 .v = shrunk.data(),
                 .v_stride = max_rank,
                 .y = y,
                 .y_stride = stride,
                 .out = config.out_of(p)});
}

void decoder::head(const activation& x, std::span<const uint32_t> rows, std::span<float> logits) {
  auto& s = *state_;
  const size_t hidden = s.config.hidden;
  std::vector<float> picked(rows.size() * hidden);
  for (size_t i = 0; i < rows.size(); ++i)
    std::copy_n(x.begin() + static_cast<ptrdiff_t>(rows[i] * hidden), hidden,
                picked.begin() + static_cast<ptrdiff_t>(i * hidden));
  kernels::rms_norm({.residual = picked.data(),
                     .residual_stride = hidden,
                     .x = nullptr,
                     .x_stride = 0,
                     .weight = s.norm.data(),
                     .epsilon = s.config.norm_epsilon,
                     .out = picked.data(),
                     .out_stride = hidden,
                     .rows = rows.size(),
                     .width = hidden});
  s.head.apply(picked.data(), logits.data(), rows.size());
}

}  // namespace troupe::llm
