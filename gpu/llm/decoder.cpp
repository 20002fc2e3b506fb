#include "gpu/llm/decoder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cassert>
#include <new>
#include <vector>

#include "gpu/common/model_error.hpp"
#include "gpu/kernels/embedding.hpp"
#include "gpu/kernels/gelu_mul.hpp"
#include "gpu/kernels/kv_append.hpp"
#include "gpu/kernels/paged_attention.hpp"
#include "gpu/kernels/rms_norm.hpp"
#include "gpu/kernels/rope.hpp"
#include "gpu/kernels/sgmv.hpp"
#include "gpu/kernels/silu_mul.hpp"
#include "gpu/kernels/soft_cap.hpp"
#include "gpu/llm/adapter_table.hpp"
#include "gpu/llm/decoder_layer.hpp"
#include "gpu/llm/layer_image.hpp"

namespace troupe::llm {

struct decoder::state {
  state(model_config c, decoder_options o);

  void prepare(const llm_step& step);
  struct angles;
  void set_angles(const llm_step& step, angles& of);
  void embed(const llm_step& step, activation& x);
  void attend(const llm_step& step, uint32_t layer, const float* added);
  void feed_forward(const llm_step& step, uint32_t layer);
  void normalise(const float* added, std::span<const float> weight, size_t rows);
  void normalise_delta(std::span<const float> weight, size_t rows);
  void normalise_heads(float* heads, size_t stride, uint32_t count, std::span<const float> weight,
                       size_t rows);
  void adapt(uint32_t layer, projection p, const std::vector<float>& x, float* y, size_t stride);

  const model_config config;
  const decoder_options options;

  const linear& head() const { return config.tied_embeddings ? embedding.head : last.head; }

  struct kept_image {
    std::span<const std::byte> bytes;
    std::shared_ptr<const void> owner;
  };
  std::vector<kept_image> images;  // by layer number of the checkpoint
  embedding_layer embedding;
  std::vector<decoder_layer> layers;
  final_layer last;
  std::vector<std::atomic<bool>> loaded;  // by layer number of the checkpoint
  adapter_table adapters;

  image_memory pages;
  kernels::paged_kv kv;

  // of the running step; [rows, ...] each
  float* residual = nullptr;          // [hidden]
  std::vector<float> normed;          // [hidden]
  std::vector<float> qkv;             // [q | k | v]
  std::vector<float> attended;        // [q]
  std::vector<float> gate_up, gated;  // [gate | up], [intermediate]
  expert_computation experts;
  std::vector<float> delta;  // [hidden] not yet added to the residual
  struct angles {
    const std::vector<float>* frequencies = nullptr;
    float scale = 1;
    std::vector<float> cosine, sine;  // [rotated / 2] for the rows' positions
  };
  angles everywhere, local;   // local: of layers with a window, if they differ
  std::vector<float> shrunk;  // [max_rank]
  std::vector<const kernels::lora_weights*> segment_adapters;
  kernels::lora_segments segments;
  uint32_t max_rank = 0;  // 0: only the base model

  kernel_timer timer;
};

decoder::state::state(model_config c, decoder_options o)
    : config(std::move(c)),
      options(o),
      images(config.layers + 2),
      layers(config.layers),
      loaded(config.layers + 2) {
  if (config.head_dim > kernels::attention_max_head_dim)
    throw model_error(fmt::format("heads of {} numbers are not supported on CPUs: at most {} are",
                                  config.head_dim, kernels::attention_max_head_dim));
  kv = {nullptr, o.kv, config.layers, config.kv_heads, o.block_tokens, config.head_dim};
  size_t bytes = 0;
  try {
    if (__builtin_mul_overflow(o.blocks, kv.page_bytes(), &bytes)) throw std::bad_alloc();
    pages = o.kv_memory(bytes);
  } catch (const std::bad_alloc&) {
    throw model_error(fmt::format("a KV cache of {} blocks of {} bytes does not fit into memory: reduce it",
                                  o.blocks, kv.page_bytes()));
  }
  kv.pages = pages.bytes.data();
  const uint64_t longest = std::min<uint64_t>(config.max_positions, uint64_t{o.blocks} * o.block_tokens);
  everywhere = {&config.rope.of_length(longest), config.rope.scale, {}, {}};
  local = {&config.local_rope.of_length(longest), config.local_rope.scale, {}, {}};
}

decoder::decoder(model_config config, decoder_options options)
    : state_(std::make_unique<state>(std::move(config), options)) {}
decoder::~decoder() = default;
decoder::decoder(decoder&&) noexcept = default;

const model_config& decoder::config() const { return state_->config; }
const decoder_options& decoder::options() const { return state_->options; }

void decoder::load(uint32_t layer, const layer_view& p) {
  const auto* table = p.find("embed_tokens.weight");
  const image_format format{options().weights, table == nullptr ? element::f32 : table->type};
  const layer_images images(config(), format);
  const auto image = std::make_shared<aligned_bytes>(images.bytes(layer));
  images.write(layer, p, {image->data(), image->size()});
  adopt(layer, format.table, image->span(), image);
}

void decoder::adopt(uint32_t layer, element table, std::span<const std::byte> image,
                    std::shared_ptr<const void> owner) {
  auto& s = *state_;
  assert(layer < s.config.layers + 2);
  const image_format format{s.options.weights, table};
  const layer_images images(s.config, format);
  assert(image.size() == images.bytes(layer));
  s.images[layer] = {image, std::move(owner)};
  if (layer == 0)
    s.embedding = images.embedding(image.data());
  else if (layer <= s.config.layers)
    s.layers[layer - 1] = images.layer(layer, image.data());
  else
    s.last = images.last(image.data());
  s.loaded[layer] = true;
}

std::span<const std::byte> decoder::image(uint32_t layer) const { return state_->images[layer].bytes; }

uint32_t decoder::ready_layers() const {
  const auto& loaded = state_->loaded;
  return static_cast<uint32_t>(std::find(loaded.begin(), loaded.end(), false) - loaded.begin());
}

void decoder::load(adapter_id id, const adapter& a) {
  load(id, std::make_shared<const adapter_weights>(a, state_->config.layers, state_->options.weights));
}
void decoder::load(adapter_id id, std::shared_ptr<const adapter_weights> a) {
  state_->adapters.load(id, std::move(a));
}
void decoder::unload(adapter_id id) { state_->adapters.unload(id); }
uint64_t decoder::adapter_bytes() const { return state_->adapters.bytes(); }

kv_cache_memory decoder::blocks() const {
  const auto& s = *state_;
  return {s.pages.bytes.first(s.options.blocks * s.kv.page_bytes()), s.pages.offset};
}

void decoder::time_kernels(const clock* c, kernel_times* sum) {
  assert((c == nullptr) == (sum == nullptr));
  state_->timer = {c, sum};
}

void decoder::state::embed(const llm_step& step, activation& x) {
  x.resize(size_t{step.rows()} * config.hidden);
  timer.launch(&kernel_times::others, kernels::embedding,
               {.tokens = step.tokens.data(),
                .rows = step.rows(),
                .table = embedding.table.bytes.data(),
                .type = embedding.table.type,
                .hidden = config.hidden,
                .out = x.data(),
                .out_stride = config.hidden,
                .scale = config.embedding_scale});
}

void decoder::run(const llm_step& step, uint32_t first, uint32_t end, activation& x) {
  auto& s = *state_;
  assert(first <= end && end <= s.config.layers + 1);
  if (first == 0 && end > 0) s.embed(step, x);
  const uint32_t from = std::max(first, 1U);
  if (from >= end) return;

  s.residual = x.data();
  s.prepare(step);
  for (uint32_t l = from; l < end; ++l) {
    s.attend(step, l - 1, l == from ? nullptr : s.delta.data());
    s.feed_forward(step, l - 1);
  }
  s.timer.timed(&kernel_times::others, [&] {
    for (size_t i = 0; i < x.size(); ++i) x[i] += s.delta[i];
  });
}

/// Sets up the state that all layers share: buffers of the rows, their RoPE angles, their segments' adapters.
void decoder::state::prepare(const llm_step& step) {
  const size_t rows = step.rows();
  normed.resize(rows * config.hidden);
  qkv.resize(rows * (config.q_width() + 2 * config.kv_width()));
  attended.resize(rows * config.q_width());
  if (config.experts.count == 0) {
    gate_up.resize(rows * 2 * config.intermediate);
    gated.resize(rows * config.intermediate);
  }
  delta.resize(rows * config.hidden);
  set_angles(step, everywhere);
  if (!local.frequencies->empty()) set_angles(step, local);

  segment_adapters.clear();
  max_rank = 0;
  for (const auto id : step.segment_adapters) {
    if (id == base_model) {
      segment_adapters.push_back(nullptr);
      continue;
    }
    const auto& a = adapters.at(id);
    segment_adapters.push_back(a.parts);
    max_rank = std::max(max_rank, a.max_rank);
  }
  segments = {.segment_end = step.segment_end.data(),
              .adapters = segment_adapters.data(),
              .count = static_cast<uint32_t>(segment_adapters.size()),
              .type = options.weights};
  shrunk.resize(rows * max_rank);
}

void decoder::state::set_angles(const llm_step& step, angles& of) {
  const size_t rows = step.rows(), half = of.frequencies->size();
  of.cosine.resize(rows * half);
  of.sine.resize(rows * half);
  timer.launch(&kernel_times::others, kernels::rope_angles,
               {.positions = step.positions.data(),
                .rows = rows,
                .rotated = static_cast<uint32_t>(2 * half),
                .frequencies = of.frequencies->data(),
                .scale = of.scale,
                .cosine = of.cosine.data(),
                .sine = of.sine.data()});
}

/// `added`: output of the layer before, not yet added to the residual.
void decoder::state::attend(const llm_step& step, uint32_t layer, const float* added) {
  const auto& l = layers[layer];
  const size_t rows = step.rows(), q = config.q_width(), kv_width = config.kv_width(), all = q + 2 * kv_width;
  normalise(added, l.input_norm, rows);
  timer.launch(&kernel_times::projections, kernels::dense, l.qkv.args(normed.data(), qkv.data(), rows));
  float *const queries = qkv.data(), *const keys = queries + q, *const values = keys + kv_width;
  adapt(layer, projection::q, normed, queries, all);
  adapt(layer, projection::k, normed, keys, all);
  adapt(layer, projection::v, normed, values, all);
  if (config.head_norms) {
    normalise_heads(queries, all, config.heads, l.query_norm, rows);
    normalise_heads(keys, all, config.kv_heads, l.key_norm, rows);
  }
  const auto& turn = config.window[layer] > 0 && !local.frequencies->empty() ? local : everywhere;
  timer.launch(&kernel_times::others, kernels::rope,
               {.q = queries,
                .q_stride = all,
                .k = keys,
                .k_stride = all,
                .rows = rows,
                .heads = config.heads,
                .kv_heads = config.kv_heads,
                .head_dim = config.head_dim,
                .cosine = turn.cosine.data(),
                .sine = turn.sine.data(),
                .rotated = static_cast<uint32_t>(2 * turn.frequencies->size())});

  const kernels::block_table table{step.block_start.data(), step.blocks.data()};
  timer.launch(&kernel_times::others, kernels::kv_append,
               {.k = keys,
                .v = values,
                .k_stride = all,
                .v_stride = all,
                .rows = rows,
                .row_sequence = step.row_sequence.data(),
                .row_position = step.positions.data(),
                .table = table,
                .kv = kv,
                .layer = layer});
  timer.launch(&kernel_times::attention, kernels::paged_attention,
               {.q = queries,
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
                .scale = config.attention_scale(),
                .cap = config.score_cap});
  timer.launch(&kernel_times::projections, kernels::dense, l.o.args(attended.data(), delta.data(), rows));
  adapt(layer, projection::o, attended, delta.data(), config.hidden);
  if (config.output_norms) normalise_delta(l.attended_norm, rows);
}

void decoder::state::feed_forward(const llm_step& step, uint32_t layer) {
  const auto& l = layers[layer];
  const size_t rows = step.rows(), width = config.intermediate;
  normalise(delta.data(), l.post_norm, rows);
  if (config.experts.count > 0) {
    experts.run(l.experts, config, normed.data(), rows, delta.data(), timer);
    return;
  }
  timer.launch(&kernel_times::projections, kernels::dense,
               l.gate_up.args(normed.data(), gate_up.data(), rows));
  float *const gate = gate_up.data(), *const up = gate + width;
  adapt(layer, projection::gate, normed, gate, 2 * width);
  adapt(layer, projection::up, normed, up, 2 * width);
  timer.launch(&kernel_times::others,
               config.activation == gate_activation::silu ? kernels::silu_mul : kernels::gelu_mul,
               {.gate = gate,
                .up = up,
                .gate_stride = 2 * width,
                .up_stride = 2 * width,
                .out = gated.data(),
                .out_stride = width,
                .rows = rows,
                .width = width});
  timer.launch(&kernel_times::projections, kernels::dense, l.down.args(gated.data(), delta.data(), rows));
  adapt(layer, projection::down, gated, delta.data(), config.hidden);
  if (config.output_norms) normalise_delta(l.fed_norm, rows);
}

void decoder::state::normalise(const float* added, std::span<const float> weight, size_t rows) {
  timer.launch(&kernel_times::others, kernels::rms_norm,
               {.residual = residual,
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

/// Normalises the output of a layer in place.
void decoder::state::normalise_delta(std::span<const float> weight, size_t rows) {
  timer.launch(&kernel_times::others, kernels::rms_norm,
               {.residual = delta.data(),
                .residual_stride = config.hidden,
                .weight = weight.data(),
                .epsilon = config.norm_epsilon,
                .out = delta.data(),
                .out_stride = config.hidden,
                .rows = rows,
                .width = config.hidden});
}

void decoder::state::normalise_heads(float* heads, size_t stride, uint32_t count,
                                     std::span<const float> weight, size_t rows) {
  timer.launch(&kernel_times::others, kernels::head_norm,
               {.x = heads,
                .x_stride = stride,
                .rows = rows,
                .heads = count,
                .head_dim = config.head_dim,
                .weight = weight.data(),
                .epsilon = config.norm_epsilon});
}

/// Adds the LoRA products of x [rows, in], contiguous, to y, whose rows are `stride` floats apart.
void decoder::state::adapt(uint32_t layer, projection p, const std::vector<float>& x, float* y,
                           size_t stride) {
  if (max_rank == 0) return;
  segments.projection = adapter_weights::index(layer, p);
  timer.launch(&kernel_times::adapters, kernels::lora,
               {.segments = segments,
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
  s.normed.resize(rows.size() * hidden);
  s.timer.launch(&kernel_times::others, kernels::rms_norm,
                 {.residual = const_cast<float*>(x.data()),  // read only
                  .residual_stride = hidden,
                  .which = rows.data(),
                  .weight = s.last.norm.data(),
                  .epsilon = s.config.norm_epsilon,
                  .out = s.normed.data(),
                  .out_stride = hidden,
                  .rows = rows.size(),
                  .width = hidden});
  s.timer.launch(&kernel_times::projections, kernels::dense,
                 s.head().args(s.normed.data(), logits.data(), rows.size()));
  if (s.config.logit_cap > 0)
    s.timer.launch(
        &kernel_times::others, kernels::soft_cap,
        {.x = logits.data(), .count = rows.size() * s.config.vocabulary, .cap = s.config.logit_cap});
}

}  // namespace troupe::llm
