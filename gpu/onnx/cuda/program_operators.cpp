#include "gpu/onnx/cuda/program_operators.hpp"

#include <algorithm>
#include <iterator>

namespace troupe::cuda {

namespace {

struct entry {
  std::string_view name;
  program_operator put;
};

constexpr entry table[] = {
    {"Add", put_pointwise},
    {"AveragePool", put_pool},
    {"BatchNormalization", put_batch_normalization},
    {"Cast", put_pointwise},
    {"Clip", put_pointwise},
    {"Concat", put_concat},
    {"Conv", put_conv},
    {"ConvTranspose", put_conv_transpose},
    {"Div", put_pointwise},
    {"Dropout", put_same},
    {"Equal", put_pointwise},
    {"Erf", put_pointwise},
    {"Exp", put_pointwise},
    {"Expand", put_expand},
    {"Flatten", put_reshape},
    {"Gather", put_gather},
    {"Gemm", put_gemm},
    {"GlobalAveragePool", put_global_pool},
    {"GlobalMaxPool", put_global_pool},
    {"Greater", put_pointwise},
    {"GreaterOrEqual", put_pointwise},
    {"HardSigmoid", put_pointwise},
    {"HardSwish", put_pointwise},
    {"Identity", put_same},
    {"LayerNormalization", put_layer_normalization},
    {"LeakyRelu", put_pointwise},
    {"Less", put_pointwise},
    {"LessOrEqual", put_pointwise},
    {"MatMul", put_matmul},
    {"MaxPool", put_pool},
    {"Mul", put_pointwise},
    {"Not", put_pointwise},
    {"Pad", put_pad},
    {"Pow", put_pointwise},
    {"ReduceMean", put_reduce_mean},
    {"Relu", put_pointwise},
    {"Reshape", put_reshape},
    {"Sigmoid", put_pointwise},
    {"Slice", put_slice},
    {"Softmax", put_softmax},
    {"Split", put_split},
    {"Sqrt", put_pointwise},
    {"Squeeze", put_reshape},
    {"Sub", put_pointwise},
    {"Tanh", put_pointwise},
    {"Transpose", put_transpose},
    {"Unsqueeze", put_reshape},
    {"Where", put_pointwise},
};
static_assert(std::ranges::is_sorted(table, {}, &entry::name));

}  // namespace

program_operator find_program_operator(std::string_view name) {
  const auto* found = std::ranges::lower_bound(table, name, {}, &entry::name);
  return found != std::end(table) && found->name == name ? found->put : nullptr;
}

}  // namespace troupe::cuda
