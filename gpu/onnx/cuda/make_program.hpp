// From a model to its program, without what it takes to build one.
#pragma once
#include "gpu/onnx/cuda/tensor_program.hpp"
#include "gpu/onnx/model.hpp"

namespace troupe::cuda {

struct program_options {
  bool channels_last = false;  ///< convolutions, and what stands between them
  bool tf32 = true;            ///< products and convolutions may round their operands to TF32
};

/// At one batch size. Throws model_error: the model cannot run at it, or an output is not as promised.
tensor_program make_program(const onnx::model& m, uint32_t rows, const program_options& options);

}  // namespace troupe::cuda
