// Elementwise functions that oneDNN can apply on its own or at the end of another primitive.
#pragma once
#include <oneapi/dnnl/dnnl.hpp>
#include <vector>

namespace troupe::onnx {

class plan_builder;

struct activation_function {
  dnnl::algorithm algorithm{};
  float alpha = 0, beta = 0;
};

/// The functions that the builder's current node (Relu, Clip, HardSigmoid, ...) applies, in order. Empty if
/// it is another operator. Fails if a Clip's limits are not known.
std::vector<activation_function> activation_functions_of(plan_builder& b);

}  // namespace troupe::onnx
