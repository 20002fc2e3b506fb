// Programs of small graphs, for tests.
#pragma once
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "gpu/cuda/onnx/make_program.hpp"
#include "gpu/onnx/graph.hpp"

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

/// Steps of this kind.
template <class Step>
size_t count(const tensor_program& p) {
  return static_cast<size_t>(
      std::ranges::count_if(p.steps, [](const auto& s) { return std::holds_alternative<Step>(s); }));
}

}  // namespace troupe::cuda
