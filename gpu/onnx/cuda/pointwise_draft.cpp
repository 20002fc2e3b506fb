#include "gpu/onnx/cuda/pointwise_draft.hpp"

#include <algorithm>
#include <cassert>

namespace troupe::cuda {

namespace {

bool same_place(const place& a, const place& b) {
  return a.where == b.where && a.index == b.index && a.layer == b.layer;
}

}  // namespace

uint8_t pointwise_draft::operand(const device_value& v) {
  const auto known = std::ranges::find_if(operands_, [&](const device_value& other) {
    return same_place(other.where, v.where) && other.dims == v.dims && other.strides == v.strides;
  });
  if (known != operands_.end()) return static_cast<uint8_t>(known - operands_.begin());
  assert(has_room(1, 0));
  operands_.push_back(v);
  return static_cast<uint8_t>(operands_.size() - 1);
}

onnx::shape pointwise_draft::result_strides() const {
  const auto as_large = std::ranges::find(operands_, dims_, &device_value::dims);
  if (as_large == operands_.end()) return onnx::strides_of(dims_);
  return dense_strides(dims_, memory_order(dims_, as_large->strides));
}

pointwise_step pointwise_draft::into(program_builder& b, const device_value& out) const {
  const auto order = memory_order(dims_, out.strides);
  std::vector<onnx::shape> strides{permuted(out.strides, order)};
  for (const auto& v : operands_)
    strides.push_back(permuted(repeated_strides(v.dims, v.strides, dims_), order));
  const auto merged = merge_dimensions(permuted(dims_, order), strides);

  pointwise_step step;
  step.numbers = numbers_, step.out = out.where, step.fault = fault_;
  auto& c = step.chain;
  c.walk = merged.walk, c.type = out.type;
  c.count = static_cast<uint32_t>(out.elements());
  c.operands = static_cast<uint32_t>(operands_.size());
  c.instructions = static_cast<uint32_t>(instructions_.size());
  std::ranges::copy(instructions_, c.instruction);
  bool four = numbers_ == calculated_in::f32 && merged.last_extent() % 4 == 0;
  for (size_t i = 0; i < operands_.size(); ++i) {
    const auto& v = operands_[i];
    b.use(v);
    step.in.push_back(v.where);
    c.in[i].type = v.type, c.in[i].steps = merged.steps[1 + i];
    const int64_t last = merged.last_step(1 + i);
    four = four && (last == 0 || last == 1);
    c.in[i].wide = v.type == data_type::fp32 && last == 1;
    for (uint32_t d = 0; d + 1 < merged.walk.dims; ++d)
      c.in[i].wide = c.in[i].wide && merged.steps[1 + i].step[d] % 4 == 0;
  }
  step.width = four ? 4 : 1;
  return step;
}

}  // namespace troupe::cuda
