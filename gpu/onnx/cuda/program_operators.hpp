// The operators on a GPU: each operator of gpu/onnx/operators.hpp has a function here.
#pragma once
#include <string_view>

namespace troupe::cuda {

class program_builder;

/// Reads the builder's current node, emits the steps that compute its outputs, and defines them. Throws
/// through `program_builder::fail`.
using program_operator = void (*)(program_builder&);

/// Null if there is no operator of this name.
program_operator find_program_operator(std::string_view name);

// by file
void put_pointwise(program_builder&);            // pointwise_operators.cpp
void put_batch_normalization(program_builder&);  // likewise
void put_reshape(program_builder&);              // moving_operators.cpp
void put_same(program_builder&);
void put_concat(program_builder&);
void put_expand(program_builder&);
void put_gather(program_builder&);
void put_pad(program_builder&);
void put_slice(program_builder&);
void put_split(program_builder&);
void put_transpose(program_builder&);
void put_conv(program_builder&);  // conv_operators.cpp
void put_conv_transpose(program_builder&);
void put_gemm(program_builder&);  // product_operators.cpp
void put_matmul(program_builder&);
void put_pool(program_builder&);  // window_operators.cpp
void put_global_pool(program_builder&);
void put_reduce_mean(program_builder&);
void put_softmax(program_builder&);
void put_layer_normalization(program_builder&);

}  // namespace troupe::cuda
