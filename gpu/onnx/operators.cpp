#include "gpu/onnx/operators.hpp"

#include <algorithm>
#include <limits>

namespace troupe::onnx {

void build_batch_normalization(plan_builder&);
void build_binary(plan_builder&);
void build_cast(plan_builder&);
void build_compare(plan_builder&);
void build_concat(plan_builder&);
void build_constant_of_shape(plan_builder&);
void build_conv(plan_builder&);
void build_conv_transpose(plan_builder&);
void build_dropout(plan_builder&);
void build_expand(plan_builder&);
void build_flatten(plan_builder&);
void build_gather(plan_builder&);
void build_gemm(plan_builder&);
void build_global_pool(plan_builder&);
void build_identity(plan_builder&);
void build_layer_normalization(plan_builder&);
void build_matmul(plan_builder&);
void build_not(plan_builder&);
void build_pad(plan_builder&);
void build_pool(plan_builder&);
void build_reduce_mean(plan_builder&);
void build_reshape(plan_builder&);
void build_shape(plan_builder&);
void build_slice(plan_builder&);
void build_softmax(plan_builder&);
void build_split(plan_builder&);
void build_squeeze(plan_builder&);
void build_transpose(plan_builder&);
void build_unary(plan_builder&);
void build_unsqueeze(plan_builder&);
void build_where(plan_builder&);

namespace {

constexpr size_t any = std::numeric_limits<size_t>::max();
constexpr bool head = true;

constexpr operator_entry table[] = {
    {"Add", 2, 2, build_binary},
    {"AveragePool", 1, 1, build_pool},
    {"BatchNormalization", 5, 5, build_batch_normalization},
    {"Cast", 1, 1, build_cast},
    {"Clip", 1, 3, build_unary},
    {"Concat", 1, any, build_concat},
    {"ConstantOfShape", 1, 1, build_constant_of_shape},
    {"Conv", 2, 3, build_conv, head},
    {"ConvTranspose", 2, 3, build_conv_transpose, head},
    {"Div", 2, 2, build_binary},
    {"Dropout", 1, 3, build_dropout},
    {"Equal", 2, 2, build_compare},
    {"Erf", 1, 1, build_unary},
    {"Exp", 1, 1, build_unary},
    {"Expand", 2, 2, build_expand},
    {"Flatten", 1, 1, build_flatten},
    {"Gather", 2, 2, build_gather, head},
    {"Gemm", 2, 3, build_gemm, head},
    {"GlobalAveragePool", 1, 1, build_global_pool},
    {"GlobalMaxPool", 1, 1, build_global_pool},
    {"Greater", 2, 2, build_compare},
    {"GreaterOrEqual", 2, 2, build_compare},
    {"HardSigmoid", 1, 1, build_unary},
    {"HardSwish", 1, 1, build_unary},
    {"Identity", 1, 1, build_identity},
    {"LayerNormalization", 2, 3, build_layer_normalization, head},
    {"LeakyRelu", 1, 1, build_unary},
    {"Less", 2, 2, build_compare},
    {"LessOrEqual", 2, 2, build_compare},
    {"MatMul", 2, 2, build_matmul, head},
    {"MaxPool", 1, 1, build_pool},
    {"Mul", 2, 2, build_binary},
    {"Not", 1, 1, build_not},
    {"Pad", 2, 3, build_pad},
    {"Pow", 2, 2, build_binary},
    {"ReduceMean", 1, 1, build_reduce_mean},
    {"Relu", 1, 1, build_unary},
    {"Reshape", 2, 2, build_reshape},
    {"Shape", 1, 1, build_shape},
    {"Sigmoid", 1, 1, build_unary},
    {"Slice", 3, 5, build_slice},
    {"Softmax", 1, 1, build_softmax},
    {"Split", 1, 2, build_split},
    {"Sqrt", 1, 1, build_unary},
    {"Squeeze", 1, 2, build_squeeze},
    {"Sub", 2, 2, build_binary},
    {"Tanh", 1, 1, build_unary},
    {"Transpose", 1, 1, build_transpose},
    {"Unsqueeze", 1, 2, build_unsqueeze},
    {"Where", 3, 3, build_where},
};
static_assert(std::ranges::is_sorted(table, {}, &operator_entry::name));

}  // namespace

std::span<const operator_entry> operators() { return table; }

const operator_entry* find_operator(std::string_view name) {
  const auto* entry = std::ranges::lower_bound(table, name, {}, &operator_entry::name);
  return entry != std::end(table) && entry->name == name ? entry : nullptr;
}

}  // namespace troupe::onnx
