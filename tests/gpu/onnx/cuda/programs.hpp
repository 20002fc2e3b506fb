// Programs of small graphs, for tests.
#pragma once
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "gpu/onnx/cuda/make_program.hpp"
#include "gpu/onnx/cuda/program_builder.hpp"
#include "gpu/onnx/graph.hpp"
#include "tests/gpu/onnx/graphs.hpp"

namespace troupe::cuda {

inline onnx::node node(std::string op, std::vector<std::string> inputs, std::string output,
                       std::map<std::string, onnx::attribute, std::less<>> attributes = {}) {
  onnx::node n;
  n.op = std::move(op), n.inputs = std::move(inputs), n.outputs = {std::move(output)};
  n.attributes = std::move(attributes);
  return n;
}

inline tensor_program program_of(const onnx::model& m, uint32_t rows = 2, bool channels_last = false) {
  return make_program(m, rows, {channels_last, true});
}

/// The steps of this kind.
template <class Step>
size_t count(const tensor_program& p) {
  return static_cast<size_t>(
      std::ranges::count_if(p.steps, [](const auto& s) { return std::holds_alternative<Step>(s); }));
}

/// A builder with hand-made values and steps, before those of a model with one ReLU.
struct program_by_hand {
  device_value make(const onnx::shape& dims, data_type type = data_type::fp32) {
    return builder.make(type, dims);
  }
  device_value channels_last(const onnx::shape& dims) {
    return builder.make(data_type::fp32, dims, channels_last_strides(dims));
  }

  onnx::model model{onnx::make_graph({8}, {node("Relu", {"x"}, "y")}, {"y"})};
  onnx::shaped_model shaped{model, 2};
  program_builder builder{shaped, {}};
};

}  // namespace troupe::cuda
