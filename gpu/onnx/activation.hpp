// Elementwise functions that oneDNN can apply on its own or at the end of another primitive.
#pragma once
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>

namespace troupe::onnx {

class plan_builder;

struct activation {
  dnnl::algorithm algorithm{};
  float alpha = 0, beta = 0;
};

/// What the node that the builder stands at is: Relu, Clip, Tanh, Sigmoid, Sqrt, Exp; nothing otherwise.
/// Fails if a Clip's limits are not known.
std::optional<activation> activation_of(plan_builder& b);

}  // namespace troupe::onnx
