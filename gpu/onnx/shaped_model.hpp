// A model at one batch size, as another device's planner reads it: the shape of every value, what of them is
// known before the first run, and the nodes with their attributes checked.
#pragma once
#include "gpu/onnx/model.hpp"
#include "gpu/onnx/plan_builder.hpp"

namespace troupe::onnx {

class shaped_model {
 public:
  /// Throws model_error: the model cannot run at this batch size. `m` outlives it.
  shaped_model(const model& m, int64_t rows);

  const model& of() const { return model_; }
  int64_t rows() const { return rows_; }
  /// The node's attributes and inputs; until the next call.
  plan_builder& at(const node& n);
  /// Requires: an input of the model, or what one of its nodes gives or reads.
  const value& of(const std::string& name) { return builder_.lookup(name); }
  /// Whether all that it gives is known: it need not be run.
  bool is_known(const node& n);
  /// The numbers of a constant or a parameter of fp32; empty if they are not known before the first run.
  std::span<const float> known_numbers(const value& v) const;

 private:
  const model& model_;
  const int64_t rows_;
  weights none_;  // whose layers are never loaded
  plan_builder builder_;
};

}  // namespace troupe::onnx
