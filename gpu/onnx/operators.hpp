// The table of supported operators.
#pragma once
#include <cstddef>
#include <span>
#include <string_view>

namespace troupe::onnx {

class plan_builder;

/// To add an operator: write its build function in operators/, and add a row to operators.cpp.
struct operator_entry {
  std::string_view name;
  size_t min_inputs = 0, max_inputs = 0;
  /// Reads the builder's current node, defines its outputs and emits the steps that compute them. Throws
  /// through `plan_builder::fail`.
  void (*build)(plan_builder&) = nullptr;
  bool heads_layer = false;  ///< usually has parameters: a layer may begin here (layers.hpp)
};

std::span<const operator_entry> operators();  ///< in alphabetical order
const operator_entry* find_operator(std::string_view name);

}  // namespace troupe::onnx
