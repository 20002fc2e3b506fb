#include "tools/lab/random_llm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "gpu/checkpoint/parameter_layout.hpp"
#include "gpu/common/request_refused.hpp"
#include "policies/common/random.hpp"

namespace troupe::llm {
namespace {

constexpr float largest = 0.035F;  // of a uniform distribution with a standard deviation of 0.02

size_t aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }

/// n numbers of `type`; each chunk has its own random stream, so that threads can share the work.
void fill_random(std::byte* to, element type, size_t n, uint64_t seed) {
  constexpr size_t piece = size_t{1} << 16;
#pragma omp parallel for schedule(static)
  for (size_t first = 0; first < n; first += piece) {
    uint64_t state = seed + first;
    state = splitmix64(state);
    const size_t past = std::min(n, first + piece);
    for (size_t i = first; i < past; i += 4) {
      uint64_t bits = splitmix64(state);  // four numbers of 16 bits
      for (size_t j = i; j < std::min(i + 4, past); ++j, bits >>= 16)
        set_element(to, type, j, static_cast<float>(static_cast<int16_t>(bits)) * (largest / 32768));
    }
  }
}

}  // namespace

model_config random_config(const llm_shape& s, uint32_t positions) {
  if (s.hidden % s.heads != 0 || s.heads % s.kv_heads != 0)
    throw request_refused(
        fmt::format("--hidden {} must be a multiple of --heads {}, and --heads a multiple of --kv-heads {}",
                    s.hidden, s.heads, s.kv_heads));
  const uint32_t head_dim = s.hidden / s.heads;
  if (head_dim % 2 != 0 || head_dim > 256)
    throw request_refused(fmt::format(
        "--hidden {} and --heads {} make heads of {} numbers: they must have an even number, at most 256",
        s.hidden, s.heads, head_dim));
  model_config c;
  c.family = "llama";
  c.layers = s.layers, c.hidden = s.hidden, c.intermediate = s.intermediate;
  c.heads = s.heads, c.kv_heads = s.kv_heads, c.head_dim = head_dim;
  c.vocabulary = s.vocabulary, c.max_positions = positions;
  c.norm_epsilon = 1e-5F, c.tied_embeddings = true;
  for (uint32_t i = 0; i < head_dim / 2; ++i)
    c.rope.frequencies.push_back(
        std::pow(10000.0F, -2 * static_cast<float>(i) / static_cast<float>(head_dim)));
  c.window.assign(s.layers, 0);
  return c;
}

layer_parameters random_layer(const model_config& config, uint32_t layer, element type, uint64_t seed) {
  layer_parameters p;
  size_t bytes = 0;
  for (auto& [name, shape] : parameters_of(config, layer)) {
    size_t n = 1;
    for (const auto d : shape) n *= d;
    p.parameters.push_back({std::move(name), type, std::move(shape), bytes});
    bytes += aligned(n * element_bytes(type));
  }
  auto blob = std::make_shared<aligned_bytes>(bytes);
  for (size_t i = 0; i < p.parameters.size(); ++i) {
    const auto& one = p.parameters[i];
    std::byte* to = blob->data() + one.offset;
    if (one.shape.size() == 1)
      for (size_t j = 0; j < one.shape[0]; ++j) set_element(to, type, j, 1);
    else
      fill_random(to, type, one.shape[0] * one.shape[1], seed + ((uint64_t{layer} << 8 | i) << 40));
  }
  p.blob = std::move(blob);
  return p;
}

adapter random_adapter(const model_config& config, uint32_t rank, element type, uint64_t seed) {
  constexpr projection all[] = {projection::q,    projection::k,  projection::v,   projection::o,
                                projection::gate, projection::up, projection::down};
  size_t numbers = 0;
  for (const auto p : all) numbers += size_t{rank} * (config.in_of(p) + config.out_of(p));
  auto blob = std::make_shared<aligned_bytes>(numbers * config.layers * element_bytes(type));
  fill_random(blob->data(), type, numbers * config.layers, seed);

  adapter a;
  a.max_rank = rank;
  auto left = blob->span();
  const auto take = [&](uint64_t rows, uint64_t columns) {
    const auto bytes = left.first(rows * columns * element_bytes(type));
    left = left.subspan(bytes.size());
    return weight_view{type, {rows, columns}, bytes};
  };
  for (uint32_t l = 0; l < config.layers; ++l)
    for (const auto p : all) {
      auto first = take(rank, config.in_of(p));
      a.parts.push_back({l, p, rank, 1, std::move(first), take(config.out_of(p), rank)});
    }
  a.blob = std::move(blob);
  return a;
}

uint64_t passed_parameters(const model_config& c) {
  uint64_t numbers = uint64_t{c.vocabulary} * c.hidden;  // the head
  for (uint32_t layer = 1; layer < c.layers + 2; ++layer) {
    for (const auto& p : parameters_of(c, layer)) {
      if (p.name.starts_with("lm_head")) continue;
      uint64_t n = 1;
      for (const auto d : p.shape) n *= d;
      numbers += n;
    }
  }
  return numbers;
}

}  // namespace troupe::llm
