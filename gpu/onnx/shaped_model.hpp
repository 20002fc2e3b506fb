// Shape inference of a model for one batch size, for planners of other devices: the shape of every value, the
// values that are known before the first run, and the nodes with checked attributes.
#pragma once
#include "gpu/onnx/model.hpp"
#include "gpu/onnx/plan_builder.hpp"

namespace troupe::onnx {

class shaped_model {
 public:
  /// Throws model_error if the model cannot run at this batch size. `m` must outlive this.
  shaped_model(const model& m, int64_t rows);

  const model& of() const { return model_; }
  int64_t rows() const { return rows_; }
  /// The node's attributes and inputs; valid until the next call.
  plan_builder& at(const node& n);
  /// Requires: `name` is an input of the model, or an input or output of one of its nodes.
  const value& of(const std::string& name) { return builder_.lookup(name); }
  /// True if all outputs of the node are known, so that it need not run.
  bool is_known(const node& n);
  /// The numbers of an fp32 constant or parameter; empty if they are not known before the first run.
  std::span<const float> known_numbers(const value& v) const;

 private:
  const model& model_;
  const int64_t rows_;
  weights none_;  // its layers are never loaded
  plan_builder builder_;
};

}  // namespace troupe::onnx
