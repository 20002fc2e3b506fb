// Makes a model's program (tensor_program.hpp), without the headers of the builder.
#pragma once
#include "gpu/onnx/cuda/tensor_program.hpp"
#include "gpu/onnx/model.hpp"

namespace troupe::cuda {

struct program_options {
  bool channels_last = false;  ///< layout of convolutions and the operators between them
  bool tf32 = true;            ///< products and convolutions may round their operands to TF32
};

/// The program for one batch size. Throws model_error if the model cannot run at it, or if an output is not
/// as the signature promises.
tensor_program make_program(const onnx::model& m, uint32_t rows, const program_options& options);

}  // namespace troupe::cuda
