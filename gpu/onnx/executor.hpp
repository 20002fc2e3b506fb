// Runs a model: one thread's plans, one for each batch size that it met.
#pragma once
#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <vector>

#include "gpu/common/batch_part.hpp"
#include "gpu/onnx/tensor.hpp"

namespace troupe::onnx {

class model;
class plan;
class weights;

/// Layers [first, last).
struct layer_range {
  size_t first = 0, last = 0;
};

/// What crosses a boundary between layers, in row-major tensors that can be moved anywhere: before the first
/// layer the model's inputs, after the last its outputs, in between one tensor.
using activation = std::vector<tensor>;

/// How many OpenMP threads an operator may use when it runs in the calling thread. Call it before the first
/// plan is made there: every thread starts with as many as the machine has cores.
void use_operator_threads(int n);

/// Weights of a model with all its layers loaded; share them between executors.
std::shared_ptr<weights> load_weights(const model& m);

/// Owned by one thread at a time. Model and weights may be shared with others.
class executor {
 public:
  /// Keeps at most `max_plans` plans, the most recently used. A plan takes milliseconds to make.
  executor(std::shared_ptr<const model> m, std::shared_ptr<weights> w, size_t max_plans = 16);
  ~executor();
  executor(executor&&) noexcept;
  executor& operator=(executor&&) noexcept;

  /// Makes the plan for a batch size if there is none. Throws `model_error`: one that the model cannot run
  /// at, or at which an output does not have the shape of the signature. So does whatever needs a plan.
  void warm(uint32_t rows);

  /// Runs the parts as one batch; their rows add up to `rows`. Sizes of inputs and outputs must be those of
  /// the signature (batch_part.hpp). Throws `model_error`: a layer that is not loaded, a part of the wrong
  /// size, an input that the model cannot take (an index out of range). Once `stop` is true, it ends before
  /// the next operator, writes no output, and returns false.
  bool run(uint32_t rows, std::span<const batch_part> parts, const std::atomic<bool>* stop = nullptr);

  /// Runs some layers on what enters the first of them. Running [0, k) and then [k, n) gives the same bytes
  /// as running [0, n).
  activation run(layer_range layers, const activation& in);

  double flops(uint32_t rows);  ///< of convolutions and matrix products, a multiply-add counts 2
  size_t plans() const { return plans_.size(); }

 private:
  struct entry;
  plan& plan_for(uint32_t rows);
  void check_ready(layer_range layers) const;

  std::shared_ptr<const model> model_;
  std::shared_ptr<weights> weights_;
  size_t max_plans_;
  std::list<entry> plans_;  // most recently used first
};

}  // namespace troupe::onnx
