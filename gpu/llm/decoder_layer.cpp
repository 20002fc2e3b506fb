#include "gpu/llm/decoder_layer.hpp"

#include <algorithm>
#include <cassert>
#include <string>

namespace troupe::llm {

void linear::apply(const float* x, float* y, size_t rows) const {
  kernels::dense({.x = x,
                  .x_stride = weights.in(),
                  .w = &weights,
                  .bias = bias.empty() ? nullptr : bias.data(),
                  .y = y,
                  .y_stride = weights.out(),
                  .rows = rows});
}

std::vector<float> floats_of(const layer_parameters& p, std::string_view name) {
  const auto* found = p.find(name);
  if (found == nullptr) return {};
  const auto view = p.view(*found);
  std::vector<float> out(view.bytes.size() / element_bytes(view.type));
  for (size_t i = 0; i < out.size(); ++i) out[i] = element_at(view.bytes.data(), view.type, i);
  return out;
}

linear pack_linear(const layer_parameters& p, std::initializer_list<std::string_view> names, element type) {
  linear l;
  // Checkpoints may store each projection as another type; together they are floats then.
  size_t out = 0, in = 0;
  std::vector<std::byte> together;
  const auto stored = p.view(*p.find(std::string(*names.begin()) + ".weight")).type;
  const bool alike = std::all_of(names.begin(), names.end(), [&](std::string_view name) {
    return p.view(*p.find(std::string(name) + ".weight")).type == stored;
  });
  for (const auto name : names) {
    const auto view = p.view(*p.find(std::string(name) + ".weight"));
    assert(view.shape.size() == 2 && (in == 0 || in == view.shape[1]));
    out += view.shape[0];
    in = view.shape[1];
    if (alike) {
      together.insert(together.end(), view.bytes.begin(), view.bytes.end());
    } else {
      const auto numbers = floats_of(p, std::string(name) + ".weight");
      const auto bytes = std::as_bytes(std::span{numbers});
      together.insert(together.end(), bytes.begin(), bytes.end());
    }
  }
  l.weights = kernels::packed_weights(together.data(), alike ? stored : element::f32, type, out, in);
  bool biased = false;
  for (const auto name : names) {
    auto b = floats_of(p, std::string(name) + ".bias");
    biased |= !b.empty();
    b.resize(p.find(std::string(name) + ".weight")->shape[0]);  // zeros for one that has none
    l.bias.insert(l.bias.end(), b.begin(), b.end());
  }
  if (!biased) l.bias.clear();
  return l;
}

decoder_layer pack_layer(const layer_parameters& p, element type) {
  return {floats_of(p, "input_layernorm.weight"),
          floats_of(p, "post_attention_layernorm.weight"),
          pack_linear(p, {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"}, type),
          pack_linear(p, {"self_attn.o_proj"}, type),
          pack_linear(p, {"mlp.gate_proj", "mlp.up_proj"}, type),
          pack_linear(p, {"mlp.down_proj"}, type)};
}

}  // namespace troupe::llm
