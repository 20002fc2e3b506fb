// Builder of a chain of elementwise operations for one pointwise kernel
// (gpu/kernels/cuda/pointwise_kernel.hpp).
#pragma once
#include <optional>
#include <vector>

#include "gpu/onnx/cuda/program_builder.hpp"

namespace troupe::cuda {

class pointwise_draft {
 public:
  /// dims: of the result. The chain begins with `first`, broadcast by numpy's rules.
  pointwise_draft(onnx::shape dims, calculated_in numbers, const device_value& first)
      : dims_(std::move(dims)), numbers_(numbers) {
    operand(first);
  }

  const onnx::shape& dims() const { return dims_; }
  calculated_in numbers() const { return numbers_; }
  bool has_room(size_t operands, size_t instructions = 1) const {
    return operands_.size() + operands <= pointwise_chain::max_operands &&
           instructions_.size() + instructions <= pointwise_chain::max_instructions;
  }
  /// Adds an operand, and returns its number.
  uint8_t operand(const device_value& v);
  void then(const pointwise_instruction& i) { instructions_.push_back(i); }
  void then(pointwise_op op, const device_value& a) { then({op, operand(a)}); }
  void may_fail(uint32_t fault) { fault_ = fault; }

  /// Strides for the result: those of an operand of the same size, else row-major.
  onnx::shape result_strides() const;
  /// The step that computes the chain into `out`, which has the result's dims. Marks the operands as used.
  pointwise_step into(program_builder& b, const device_value& out) const;

 private:
  onnx::shape dims_;
  calculated_in numbers_;
  std::vector<device_value> operands_;
  std::vector<pointwise_instruction> instructions_;
  uint32_t fault_ = no_fault;
};

}  // namespace troupe::cuda
