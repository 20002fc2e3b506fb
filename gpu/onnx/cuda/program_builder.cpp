#include "gpu/onnx/cuda/program_builder.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "gpu/common/model_error.hpp"
#include "gpu/onnx/cuda/program_operators.hpp"
#include "gpu/onnx/memory_layout.hpp"

namespace troupe::cuda {

namespace {

constexpr size_t forever = SIZE_MAX;

/// Dimensions of one element may have any stride.
bool same_layout(const onnx::shape& dims, const onnx::shape& a, const onnx::shape& b) {
  for (size_t d = 0; d < dims.size(); ++d)
    if (dims[d] > 1 && a[d] != b[d]) return false;
  return true;
}

}  // namespace

bool device_value::is_plain() const { return same_layout(dims, strides, onnx::strides_of(dims)); }

bool device_value::is_channels_last() const {
  return same_layout(dims, strides, channels_last_strides(dims));
}

program_builder::program_builder(onnx::shaped_model& m, const program_options& options)
    : model_(m), options_(options) {}

void program_builder::fail(const std::string& what) {
  throw model_error(
      fmt::format("{}: {}: {}, on a GPU", model_.of().program().file, onnx::describe(*node_), what));
}

tensor_program program_builder::build() {
  const auto& g = model_.of().program();
  for (const auto& input : g.inputs) {
    const auto& shaped = model_.of(input.name);
    const auto v = make(shaped.type, shaped.dims);
    buffers_[v.where.index].first = 0;
    program_.inputs.push_back({v.where, static_cast<size_t>(v.elements()) * size_of(v.type)});
    define(input.name, v);
  }
  for (const auto& n : g.nodes) {
    ++time_;
    if (taken_.contains(&n) || model_.is_known(n)) continue;
    node_ = &n;
    find_program_operator(n.op)(*this);
  }
  ++time_;
  for (const auto& name : g.outputs) {
    const auto v = made_plain(value_of(name));
    if (v.where.where == place::in::arena) buffers_[v.where.index].last = forever;
    program_.outputs.push_back({v.where, static_cast<size_t>(v.elements()) * size_of(v.type)});
  }
  lay_out();
  return std::move(program_);
}

void program_builder::lay_out() {
  std::deque<onnx::buffer> buffers;
  for (const auto& b : buffers_) buffers.push_back({b.bytes, b.first, b.last, 0, nullptr});
  program_.arena_bytes = onnx::lay_out(buffers);
  for (const auto& b : buffers) program_.offsets.push_back(b.offset);
}

device_value program_builder::value_of(const std::string& name) {
  if (const auto known = values_.find(name); known != values_.end()) {
    use(known->second);
    return known->second;
  }
  const auto& v = model_.of(name);
  if (v.constant) return values_[name] = constant(*v.constant);
  if (!v.parameter) throw model_error(fmt::format("'{}' has no value yet, on a GPU", name));
  place where{place::in::parameter, static_cast<uint32_t>(v.parameter->index),
              static_cast<uint32_t>(v.parameter->layer)};
  return values_[name] = {v.type, v.dims, onnx::strides_of(v.dims), where};
}

std::span<const float> program_builder::known_numbers(size_t i) {
  return model_.known_numbers(model_.of(node_->inputs.at(i)));
}

device_value program_builder::constant(const onnx::tensor& content) {
  program_.constants.push_back(content);
  return {content.type,
          content.dims,
          onnx::strides_of(content.dims),
          {place::in::constant, static_cast<uint32_t>(program_.constants.size() - 1), 0}};
}

void program_builder::use(const device_value& v) {
  if (v.where.where != place::in::arena) return;
  auto& last = buffers_[v.where.index].last;
  last = std::max(last, time_);
}

device_value program_builder::arranged(const device_value& v, const onnx::shape& strides) {
  use(v);
  if (same_layout(v.dims, v.strides, strides)) {
    device_value same = v;
    same.strides = strides;
    return same;
  }
  const auto out = make(v.type, v.dims, strides);
  copy(v.type, v.dims, v.where, v.strides, 0, out.where, out.strides, 0);
  return out;
}

device_value program_builder::make(data_type type, onnx::shape dims, onnx::shape strides) {
  const int64_t count = onnx::element_count(dims);  // below 2^31, the kernels' limit
  buffers_.push_back({static_cast<size_t>(count) * size_of(type), time_, time_});
  return {type,
          std::move(dims),
          std::move(strides),
          {place::in::arena, static_cast<uint32_t>(buffers_.size() - 1), 0}};
}

uint32_t program_builder::add_fault(fault_text text) {
  program_.faults.push_back(std::move(text));
  return static_cast<uint32_t>(program_.faults.size() - 1);
}

const onnx::node* program_builder::sole_reader(const std::string& name) const {
  const auto& readers = model_.of().readers();
  const auto found = readers.find(name);
  return found == readers.end() || found->second.size() != 1 ? nullptr : found->second.front();
}

bool program_builder::is_available(const std::string& name) {
  if (values_.contains(name)) return true;
  const auto& v = model_.of(name);
  return v.constant || v.parameter;
}

void program_builder::copy(data_type type, const onnx::shape& dims, const place& from,
                           const onnx::shape& from_steps, int64_t from_first, const place& to,
                           const onnx::shape& to_steps, int64_t to_first) {
  if (onnx::element_count(dims) == 0) return;
  const auto order = memory_order(dims, to_steps);  // so that adjacent threads write adjacent elements
  const auto merged =
      merge_dimensions(permuted(dims, order), {permuted(from_steps, order), permuted(to_steps, order)});
  copy_step step;
  step.from = from, step.to = to;
  step.word = static_cast<uint32_t>(size_of(type));
  step.box.walk = merged.walk;
  step.box.from_steps = merged.steps[0], step.box.to_steps = merged.steps[1];
  step.box.from_first = from_first, step.box.to_first = to_first;
  // Elements that are contiguous on both sides are copied in words of up to 16 bytes.
  const uint32_t last = merged.walk.dims - 1;
  if (merged.last_step(0) == 1 && merged.last_step(1) == 1) {
    const auto divides = [&](uint32_t elements) {
      bool fits =
          merged.last_extent() % elements == 0 && from_first % elements == 0 && to_first % elements == 0;
      for (uint32_t d = 0; d < last; ++d)
        fits = fits && merged.steps[0].step[d] % elements == 0 && merged.steps[1].step[d] % elements == 0;
      return fits;
    };
    uint32_t together = 1;
    while (step.word * together < 16 && divides(2 * together)) together *= 2;
    step.word *= together;
    step.box.walk.extent[last] /= together;
    step.box.from_first /= together, step.box.to_first /= together;
    for (uint32_t d = 0; d < last; ++d)
      step.box.from_steps.step[d] /= together, step.box.to_steps.step[d] /= together;
  }
  step.box.count = 1;
  for (uint32_t d = 0; d <= last; ++d) step.box.count *= step.box.walk.extent[d];
  emit(std::move(step));
}

void program_builder::pad(const device_value& x, const device_value& out, const onnx::shape& before,
                          uint64_t filler) {
  if (out.elements() == 0) return;
  use(x);
  const auto order = memory_order(out.dims, out.strides);
  pad_step step;
  step.word = static_cast<uint32_t>(size_of(x.type));
  step.from = x.where, step.to = out.where;
  auto& a = step.args;
  a.count = static_cast<uint32_t>(out.elements());
  a.filler = filler;
  a.walk.dims = std::max<uint32_t>(1, static_cast<uint32_t>(order.size()));
  a.extent[0] = 1;
  for (size_t i = 0; i < order.size(); ++i) {
    a.walk.extent[i] = static_cast<uint32_t>(out.dims[order[i]]);
    a.extent[i] = static_cast<uint32_t>(x.dims[order[i]]);
    a.before[i] = before[order[i]];
    a.steps.step[i] = x.strides[order[i]];
  }
  emit(step);
}

tensor_program make_program(const onnx::model& m, uint32_t rows, const program_options& options) {
  onnx::shaped_model shaped(m, rows);
  const auto& outputs = m.program().outputs;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto& v = shaped.of(outputs[i]);
    m.check_output(i, v.type, v.dims, rows);
  }
  return program_builder(shaped, options).build();
}

}  // namespace troupe::cuda
