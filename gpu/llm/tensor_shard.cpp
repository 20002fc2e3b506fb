#include "gpu/llm/tensor_shard.hpp"

#include <fmt/format.h>

#include <cstring>
#include <optional>
#include <string_view>

#include "gpu/common/model_error.hpp"
#include "gpu/llm/vocabulary_part.hpp"

namespace troupe::llm {
namespace {

size_t padded(size_t bytes) { return (bytes + 63) / 64 * 64; }

uint32_t share(uint32_t all, uint32_t ranks, std::string_view what) {
  if (all % ranks != 0)
    throw model_error(fmt::format("{} {} cannot be divided over {} devices", all, what, ranks));
  return all / ranks;
}

/// Parses a parameter's name: "self_attn.q_proj.weight" gives q.
std::optional<projection> projection_of(std::string_view parameter) {
  for (size_t i = 0; i < projection_count; ++i) {
    const auto p = static_cast<projection>(i);
    if (parameter.find(name_of(p)) != std::string_view::npos) return p;
  }
  return std::nullopt;
}

/// Rows [first, ..) x columns [left, ..) of a matrix.
struct cut {
  size_t first = 0, rows = 0, left = 0, columns = 0;

  size_t bytes(element type) const { return rows * columns * element_bytes(type); }
  std::vector<uint64_t> shape(size_t dimensions) const {
    return dimensions == 1 ? std::vector<uint64_t>{rows} : std::vector<uint64_t>{rows, columns};
  }
  void copy(const weight_view& from, std::byte* to) const {
    const size_t width = element_bytes(from.type), pitch = from.bytes.size() / from.shape[0];
    for (size_t r = 0; r < rows; ++r)
      std::memcpy(to + r * columns * width, from.bytes.data() + (first + r) * pitch + left * width,
                  columns * width);
  }
};

cut whole_of(const std::vector<uint64_t>& shape) { return {0, shape[0], 0, shape.size() > 1 ? shape[1] : 1}; }

}  // namespace

tensor_shard::tensor_shard(const model_config& whole, uint32_t rank, uint32_t ranks)
    : whole_(whole), config_(whole), rank_(rank) {
  if (const auto differs = whole.unlike_llama(); !differs.empty())
    throw model_error(
        fmt::format("a model of the family {} cannot be divided over {} devices: it {}; use device = \"cpu\"",
                    whole.family, ranks, differs));
  config_.heads = share(whole.heads, ranks, "heads");
  config_.kv_heads =
      whole.kv_heads < ranks && ranks % whole.kv_heads == 0 ? 1 : share(whole.kv_heads, ranks, "kv heads");
  config_.intermediate = share(whole.intermediate, ranks, "intermediate dimensions");
  heads_ = {rank * config_.heads, config_.heads};
  kv_heads_ = {whole.kv_heads < ranks ? rank * whole.kv_heads / ranks : rank * config_.kv_heads,
               config_.kv_heads};
  between_ = {rank * config_.intermediate, config_.intermediate};
  const vocabulary_part part(whole.vocabulary, rank, ranks);
  tokens_ = {part.first, part.count};
}

tensor_shard::range tensor_shard::outputs(projection p) const {
  switch (p) {
    case projection::q: return {heads_.first * whole_.head_dim, heads_.count * whole_.head_dim};
    case projection::k:
    case projection::v: return {kv_heads_.first * whole_.head_dim, kv_heads_.count * whole_.head_dim};
    case projection::gate:
    case projection::up: return between_;
    default: return {0, whole_.out_of(p)};
  }
}

tensor_shard::range tensor_shard::inputs(projection p) const {
  switch (p) {
    case projection::o: return outputs(projection::q);
    case projection::down: return between_;
    default: return {0, whole_.in_of(p)};
  }
}

layer_parameters tensor_shard::of(const layer_parameters& whole) const {
  layer_parameters out;
  std::vector<std::pair<const parameter*, cut>> parts;
  size_t bytes = 0;
  for (const parameter& from : whole.parameters) {
    cut c = whole_of(from.shape);
    const bool bias = from.shape.size() == 1;
    if (const auto p = projection_of(from.name)) {
      if (bias && rank_ > 0 && (*p == projection::o || *p == projection::down)) continue;
      c.first = outputs(*p).first, c.rows = outputs(*p).count;
      if (!bias) c.left = inputs(*p).first, c.columns = inputs(*p).count;
    }
    if (from.name == "lm_head.weight") c.first = tokens_.first, c.rows = tokens_.count;
    parameter& to = out.parameters.emplace_back(from);
    to.shape = c.shape(from.shape.size()), to.offset = bytes;
    bytes += padded(c.bytes(from.type));
    parts.emplace_back(&from, c);
  }
  const auto blob = std::make_shared<aligned_bytes>(bytes);
  for (size_t i = 0; i < parts.size(); ++i)
    parts[i].second.copy(whole.view(*parts[i].first), blob->data() + out.parameters[i].offset);
  out.blob = blob;
  return out;
}

adapter tensor_shard::of(const adapter& whole) const {
  const auto cut_a = [&](const adapter_part& p) {
    return cut{0, p.rank, inputs(p.target).first, inputs(p.target).count};
  };
  const auto cut_b = [&](const adapter_part& p) {
    return cut{outputs(p.target).first, outputs(p.target).count, 0, p.rank};
  };
  size_t bytes = 0;
  for (const adapter_part& p : whole.parts)
    bytes += padded(cut_a(p).bytes(p.a.type)) + padded(cut_b(p).bytes(p.b.type));
  const auto blob = std::make_shared<aligned_bytes>(bytes);
  std::byte* end = blob->data();
  const auto take = [&](const weight_view& from, const cut& c) {
    c.copy(from, end);
    const weight_view to{from.type, c.shape(2), {end, c.bytes(from.type)}};
    end += padded(to.bytes.size());
    return to;
  };
  adapter out;
  out.max_rank = whole.max_rank;
  for (adapter_part p : whole.parts) {
    const weight_view a = p.a, b = p.b;
    p.a = take(a, cut_a(p)), p.b = take(b, cut_b(p));
    out.parts.push_back(std::move(p));
  }
  out.blob = blob;
  return out;
}

}  // namespace troupe::llm
