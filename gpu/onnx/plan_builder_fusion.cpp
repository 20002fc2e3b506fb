// plan_builder: fusion of the nodes behind a product.
#include <algorithm>

#include "gpu/onnx/activation_function.hpp"
#include "gpu/onnx/gelu.hpp"
#include "gpu/onnx/plan_builder.hpp"

namespace troupe::onnx {

const node* plan_builder::sole_reader() {
  if (!readers_) return nullptr;
  const auto found = readers_->find(output_name_);
  if (found == readers_->end() || found->second.size() != 1) return nullptr;
  return found->second.front();
}

bool plan_builder::is_built(const node& n) const {
  return &n < node_ || std::ranges::find(taken_, &n) != taken_.end();
}

void plan_builder::take(const node* n) {
  taken_.push_back(n);
  output_name_ = n->outputs.front();
}

void plan_builder::take_activation(dnnl::post_ops& ops, size_t rank) {
  if (!readers_) return;
  if (const auto* next = sole_reader()) {
    const auto* here = node_;
    node_ = next;  // to read its attributes and limits
    const auto functions = activation_functions_of(*this);
    node_ = here;
    for (const auto& f : functions) ops.append_eltwise(1.0F, f.algorithm, f.alpha, f.beta);
    if (!functions.empty()) take(next);
  } else if (const auto gelu = find_gelu(graph_, *readers_, output_name_, rank); !gelu.empty()) {
    ops.append_eltwise(1.0F, dnnl::algorithm::eltwise_gelu_erf, 0, 0);
    for (const auto* n : gelu) take(n);
  }
}

std::optional<value> plan_builder::take_bias(int64_t n) {
  const auto* next = sole_reader();
  if (!next || next->op != "Add" || next->inputs.size() != 2) return std::nullopt;
  const auto& other = next->inputs[next->inputs[0] == output_name_ ? 1 : 0];
  if (other == output_name_ || (!values_.contains(other) && !graph_.constants.contains(other)))
    return std::nullopt;
  const auto& v = lookup(other);
  if ((!v.parameter && !v.constant) || v.type != data_type::fp32 || v.dims != shape{n}) return std::nullopt;
  take(next);
  return v;
}

std::optional<value> plan_builder::residual(const shape& dims) {
  const auto* next = sole_reader();
  if (!next || next->op != "Add" || next->inputs.size() != 2) return std::nullopt;
  const auto& other = next->inputs[next->inputs[0] == output_name_ ? 1 : 0];
  const auto known = values_.find(other);
  if (other == output_name_ || known == values_.end()) return std::nullopt;
  const auto& v = known->second;
  if (!v.memory || v.type != data_type::fp32 || v.dims != dims) return std::nullopt;
  // Its memory is overwritten: it must have no alias and no later reader.
  const auto shares = [&](const auto& entry) { return entry.second.memory == v.memory; };
  if (std::ranges::count_if(values_, shares) != 1) return std::nullopt;
  const auto needs = [&](const node* n) { return n == graph_output || (n != next && !is_built(*n)); };
  if (std::ranges::any_of(readers_->find(other)->second, needs)) return std::nullopt;
  return v;
}

void plan_builder::take_residual() { take(sole_reader()); }

}  // namespace troupe::onnx
