#include "gpu/llm/linear.hpp"

#include <cassert>
#include <span>
#include <string>

#include "gpu/checkpoint/tensor_files.hpp"

namespace troupe::llm {

kernels::dense_args linear::args(const float* x, float* y, size_t rows) const {
  return {.x = x,
          .x_stride = weights.in(),
          .w = &weights,
          .bias = bias.empty() ? nullptr : bias.data(),
          .y = y,
          .y_stride = weights.out(),
          .rows = rows};
}

std::vector<float> floats_of(const layer_parameters& p, std::string_view name) {
  const auto* found = p.find(name);
  return found == nullptr ? std::vector<float>{} : floats_of(p.view(*found));
}

linear pack_linear(const layer_parameters& p, std::initializer_list<std::string_view> names, element type) {
  std::vector<weight_view> parts;
  linear l;
  size_t out = 0;
  bool alike = true, biased = false;
  for (const auto name : names) {
    const auto* weight = p.find(std::string(name) + ".weight");
    assert(weight != nullptr && weight->shape.size() == 2);
    const auto& part = parts.emplace_back(p.view(*weight));
    assert(part.shape[1] == parts.front().shape[1]);
    alike = alike && part.type == parts.front().type;
    out += part.shape[0];
    const auto bias = floats_of(p, std::string(name) + ".bias");
    biased = biased || !bias.empty();
    l.bias.insert(l.bias.end(), bias.begin(), bias.end());
    l.bias.resize(out);  // zeros for a projection without bias
  }
  if (!biased) l.bias.clear();

  if (parts.size() == 1) {
    l.weights = {parts[0].bytes.data(), parts[0].type, type, out, parts[0].shape[1]};
    return l;
  }
  // Checkpoints may store the projections as different types. They are then joined as floats.
  std::vector<std::byte> together;
  for (const auto& part : parts) {
    if (alike) {
      together.insert(together.end(), part.bytes.begin(), part.bytes.end());
    } else {
      const auto numbers = floats_of(part);
      const auto bytes = std::as_bytes(std::span{numbers});
      together.insert(together.end(), bytes.begin(), bytes.end());
    }
  }
  l.weights = {together.data(), alike ? parts[0].type : element::f32, type, out, parts[0].shape[1]};
  return l;
}

}  // namespace troupe::llm
