#include "gpu/onnx/shaped_model.hpp"

#include <algorithm>

namespace troupe::onnx {

/// Runs the CPU's planner and drops its steps. Without fusion, so that every value has a name.
shaped_model::shaped_model(const model& m, int64_t rows)
    : model_(m), rows_(rows), none_(m.layers()), builder_(m.program(), &none_, nullptr) {
  const auto& g = m.program();
  for (const auto& input : g.inputs) {
    auto dims = input.dims;
    dims.front() = rows;
    builder_.define_input(input.name, input.type, std::move(dims));
  }
  for (size_t k = 0; k < m.layers().size(); ++k) {
    const auto& l = m.layers()[k];
    builder_.begin_layer();
    for (size_t p = 0; p < l.parameters.size(); ++p)
      builder_.define_parameter(l.parameters[p].name, l.parameters[p].dims, {k, p});
    for (size_t i = l.first_node; i < l.end_node; ++i) builder_.build(g.nodes[i]);
  }
}

plan_builder& shaped_model::at(const node& n) {
  builder_.stand_at(n);
  return builder_;
}

bool shaped_model::is_known(const node& n) {
  return std::ranges::all_of(
      n.outputs, [&](const auto& name) { return name.empty() || builder_.lookup(name).constant; });
}

std::span<const float> shaped_model::known_numbers(const value& v) const {
  if (v.type != data_type::fp32) return {};
  if (v.constant) return v.constant->as<float>();
  if (!v.parameter) return {};
  const auto& at = model_.layers()[v.parameter->layer].parameters[v.parameter->index];
  const auto* first = model_.parameters(v.parameter->layer)->data() + at.offset;
  return {reinterpret_cast<const float*>(first), static_cast<size_t>(v.elements())};
}

}  // namespace troupe::onnx
