// Elementwise operators, and chains of them: the only reader of a result joins its kernel.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "gpu/onnx/cuda/pointwise_draft.hpp"
#include "gpu/onnx/cuda/program_operators.hpp"
#include "gpu/onnx/loader.hpp"

namespace troupe::cuda {

namespace {

using op = pointwise_op;

struct binary {
  std::string_view name;
  op straight, turned;  ///< with the chain's value as the first or second input
};
constexpr binary binaries[] = {
    {"Add", op::add, op::add},           {"Sub", op::subtract, op::subtract_from},
    {"Mul", op::multiply, op::multiply}, {"Div", op::divide, op::divide_into},
    {"Pow", op::power, op::power_of},    {"Equal", op::equal, op::equal},
    {"Greater", op::greater, op::less},  {"GreaterOrEqual", op::greater_equal, op::less_equal},
    {"Less", op::less, op::greater},     {"LessOrEqual", op::less_equal, op::greater_equal}};

const binary* find_binary(std::string_view name) {
  const auto* found = std::ranges::find(binaries, name, &binary::name);
  return found == std::end(binaries) ? nullptr : found;
}

/// The type to calculate in that holds every number of `type`.
calculated_in numbers_for(data_type type) {
  switch (type) {
    case data_type::fp64: return calculated_in::f64;
    case data_type::uint64: return calculated_in::u64;
    case data_type::boolean:
    case data_type::fp16:
    case data_type::bf16:
    case data_type::fp32: return calculated_in::f32;
    default: return calculated_in::i64;
  }
}

bool is_integer(data_type t) { return t == data_type::int32 || t == data_type::int64; }

calculated_in numbers_of(program_builder& b, const onnx::node& n) {
  const auto type = [&](size_t i) { return b.model().of(n.inputs[i]).type; };
  if (n.op == "Pow" && is_integer(type(0))) return calculated_in::f64;
  if (n.op == "Where") return numbers_for(type(1));
  // to fp32 directly: through another type it would be rounded twice
  if (n.op == "Cast" && b.model().of(n.outputs[0]).type == data_type::fp32) return calculated_in::f32;
  return numbers_for(type(0));
}

/// Instruction of an operator with one tensor.
pointwise_instruction function_of(program_builder& b, const onnx::node& n) {
  auto& asked = b.model().at(n);
  if (n.op == "Relu") return {op::relu};
  if (n.op == "LeakyRelu") return {op::leaky_relu, 0, 0, asked.number("alpha", 0.01F)};
  if (n.op == "Tanh") return {op::tanh};
  if (n.op == "Sigmoid") return {op::sigmoid};
  if (n.op == "Sqrt") return {op::sqrt};
  if (n.op == "Exp") return {op::exp};
  if (n.op == "Erf") return {op::erf};
  if (n.op == "Not") return {op::logical_not};
  if (n.op == "HardSwish") return {op::hard_swish};
  if (n.op == "HardSigmoid")
    return {op::hard_sigmoid, 0, 0, asked.number("alpha", 0.2F), asked.number("beta", 0.5F)};
  // Clip; if the limits cross, the upper one wins
  const auto limit = [&](size_t i, float otherwise) {
    return asked.has(i) ? asked.constant_scalar(i).value_or(otherwise) : otherwise;
  };
  const float low = limit(1, std::numeric_limits<float>::lowest());
  const float high = limit(2, std::numeric_limits<float>::max());
  return {op::clip, 0, 0, std::min(low, high), high};
}

/// Appends the node's operation to the chain, which holds its input `held`.
void append(program_builder& b, pointwise_draft& chain, const onnx::node& n, size_t held) {
  const auto operand = [&](size_t i) { return chain.operand(b.value_of(n.inputs[i])); };
  // the result is written as the type of the last node, but a BOOL that goes on is 0 or 1
  if (n.op == "Cast") {
    if (b.model().of(n.outputs[0]).type == data_type::boolean) chain.then({op::truth});
    return;
  }
  if (n.op == "Where") {
    if (held == 0) return chain.then({op::choose, operand(1), operand(2)});
    return chain.then({held == 1 ? op::choose_true : op::choose_false, operand(0), operand(3 - held)});
  }
  const auto* two = find_binary(n.op);
  if (two == nullptr) return chain.then(function_of(b, n));
  pointwise_instruction i{held == 0 ? two->straight : two->turned, operand(1 - held)};
  const auto type = b.model().of(n.outputs[0]).type;
  if (n.op == "Pow" && is_integer(type)) {
    i.op = op::power_int;
    i.p = type == data_type::int32 ? 0x1p31 : 0x1p63;
    chain.may_fail(b.add_fault({"Pow overflows"}));
  } else if (n.op == "Div" && is_integer(type)) {
    chain.may_fail(b.add_fault({"division of an integer by zero"}));
  }
  chain.then(i);
}

/// The index of the node's input that the chain holds, if the node can join the chain.
std::optional<size_t> joins(program_builder& b, const pointwise_draft& chain, const onnx::node& n,
                            const std::string& held) {
  if (find_program_operator(n.op) != put_pointwise || n.outputs.size() != 1) return std::nullopt;
  const auto type = b.model().of(held).type;
  const bool exact =
      type == data_type::fp32 || type == data_type::boolean;  // no rounding between the operations
  if (!exact || chain.numbers() != calculated_in::f32 || numbers_of(b, n) != calculated_in::f32 ||
      b.model().of(n.outputs[0]).dims != chain.dims() || !chain.has_room(2))
    return std::nullopt;
  const auto at = static_cast<size_t>(std::ranges::find(n.inputs, held) - n.inputs.begin());
  for (size_t i = 0; i < n.inputs.size(); ++i)
    if (i != at && !n.inputs[i].empty() && !b.is_available(n.inputs[i])) return std::nullopt;
  if (n.op == "Clip" && at != 0) return std::nullopt;
  return at;
}

/// Appends all nodes that can join, and emits the chain.
void finish(program_builder& b, pointwise_draft& chain) {
  std::string name = b.current().outputs.front();
  while (const auto* next = b.sole_reader(name)) {
    const auto held = joins(b, chain, *next, name);
    if (!held) break;
    append(b, chain, *next, *held);
    b.take(*next);
    name = next->outputs.front();
  }
  const auto out = b.make(b.model().of(name).type, chain.dims(), chain.result_strides());
  if (out.elements() > 0) b.emit(chain.into(b, out));
  b.define(name, out);
}

}  // namespace

void put_pointwise(program_builder& b) {
  const auto& n = b.current();
  if (n.op == "Cast" && b.in(0).type == b.output_type()) return b.define(b.in(0));
  pointwise_draft chain(b.output_dims(), numbers_of(b, n), b.in(0));
  append(b, chain, n, 0);
  finish(b, chain);
}

/// y = x · scale / sqrt(variance + epsilon) + (shift - mean · that).
void put_batch_normalization(program_builder& b) {
  const auto scale = b.known_numbers(1), shift = b.known_numbers(2), mean = b.known_numbers(3),
             variance = b.known_numbers(4);
  if (scale.empty() || shift.empty() || mean.empty() || variance.empty())
    b.fail("its parameters must be known when the model is loaded");
  const double epsilon = b.asked().number("epsilon", 1e-5F);
  std::vector<float> factors, addends;
  for (size_t c = 0; c < scale.size(); ++c) {
    const double factor = scale[c] / std::sqrt(variance[c] + epsilon);
    factors.push_back(static_cast<float>(factor));
    addends.push_back(static_cast<float>(shift[c] - mean[c] * factor));
  }
  const auto dims = b.output_dims();
  onnx::shape along(dims.size() - 1, 1);  // [channels, 1, ...]
  along[0] = dims[1];
  const auto vector = [&](const std::vector<float>& numbers) {
    return b.constant(onnx::make_tensor(data_type::fp32, along, std::as_bytes(std::span{numbers})));
  };
  pointwise_draft chain(dims, calculated_in::f32, b.in(0));
  chain.then(op::multiply, vector(factors));
  chain.then(op::add, vector(addends));
  finish(b, chain);
}

}  // namespace troupe::cuda
