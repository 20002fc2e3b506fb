// A tensor model at one batch size as an ordered list of kernels, products and convolutions for a GPU. Plain
// data, without addresses: program_runner.hpp fills them in.
#pragma once
#include <string>
#include <variant>
#include <vector>

#include "gpu/kernels/cuda/conv_args.hpp"
#include "gpu/kernels/cuda/copy_kernel.hpp"
#include "gpu/kernels/cuda/gather_kernel.hpp"
#include "gpu/kernels/cuda/gemm_args.hpp"
#include "gpu/kernels/cuda/pad_kernel.hpp"
#include "gpu/kernels/cuda/pointwise_kernel.hpp"
#include "gpu/kernels/cuda/pool_kernel.hpp"
#include "gpu/kernels/cuda/row_kernels.hpp"
#include "gpu/onnx/tensor.hpp"

namespace troupe::cuda {

/// Location of a tensor.
struct place {
  enum class in : uint8_t {
    nothing,    ///< null
    arena,      ///< a buffer of the program
    parameter,  ///< of a layer of the model
    filters,    ///< a convolution's filters, channels last (gpu/kernels/cuda/conv_args.hpp)
    constant    ///< of the program
  };
  in where = in::nothing;
  uint32_t index = 0;  ///< of the buffer or constant; of a parameter in its layer
  uint32_t layer = 0;
};

/// Arithmetic type of a pointwise_kernel.
enum class calculated_in : uint8_t { f32, f64, i64, u64 };

constexpr uint32_t no_fault = UINT32_MAX;

struct pointwise_step {
  pointwise_chain chain;
  calculated_in numbers = calculated_in::f32;
  uint32_t width = 1;  ///< template argument of pointwise_kernel
  std::vector<place> in;
  place out;
  uint32_t fault = no_fault;  ///< index of the program's fault that the step may report
};
struct copy_step {
  box_copy box;
  uint32_t word = 1;
  place from, to;
};
struct pad_step {
  padding args;
  uint32_t word = 1;
  place from, to;
};
struct gather_step {
  gathering args;
  uint32_t word = 1;
  place from, indices, to;
  uint32_t fault = no_fault;
};
struct pool_step {
  pool_kernel args;
  place x, y;
};
struct row_step {
  enum class kind : uint8_t { softmax, layer_norm, mean };
  explicit row_step(kind k) : what(k) {}
  kind what;
  row_args args;
  float epsilon = 0;  ///< for layer normalisation, like scale and shift
  place x, y, scale, shift;
};
struct product_step {
  gemm_args args;
  place x, w, bias, y;
};
struct conv_step {
  conv_args args;
  place x, w, bias, residual, y;
  /// Bias, residual and ReLU, in place, for machines whose convolutions do not fuse them; else unused.
  pointwise_step behind;
};

using program_step = std::variant<pointwise_step, copy_step, pad_step, gather_step, pool_step, row_step,
                                  product_step, conv_step>;

/// Message of a fault: "node 'x' (Gather): index 7 is not in -5..4".
struct fault_text {
  std::string before;
  std::string after = {};
  bool has_value = false;  ///< the fault's value stands between the two
};

/// An input or an output: dense and row-major.
struct program_port {
  place where;
  size_t bytes = 0;
};

struct tensor_program {
  std::vector<program_step> steps;
  std::vector<size_t> offsets;  ///< of the buffers in the arena, multiples of 64
  size_t arena_bytes = 0;
  std::vector<onnx::tensor> constants;
  std::vector<fault_text> faults;
  std::vector<program_port> inputs, outputs;
};

}  // namespace troupe::cuda
