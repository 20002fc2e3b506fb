// Builds programs (tensor_program.hpp): visits the nodes of a model with known shapes
// (gpu/onnx/shaped_model.hpp), and calls for each one its operator (program_operators.hpp), which emits the
// steps for the GPU.
#pragma once
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "gpu/onnx/cuda/make_program.hpp"
#include "gpu/onnx/cuda/merged_walk.hpp"
#include "gpu/onnx/shaped_model.hpp"

namespace troupe::cuda {

/// A tensor while a program is built.
struct device_value {
  data_type type = data_type::fp32;
  onnx::shape dims, strides;  ///< in elements; dense, in some order of the dimensions
  place where;

  int64_t elements() const { return onnx::element_count(dims); }
  bool is_plain() const;          ///< row-major
  bool is_channels_last() const;  ///< [batch, spatial, channels], or equal to it
};

class program_builder {
 public:
  program_builder(onnx::shaped_model& m, const program_options& options);

  tensor_program build();

  // For operators: the node.
  const onnx::node& current() const { return *node_; }
  onnx::plan_builder& asked() { return model_.at(*node_); }  ///< its attributes and inputs
  const program_options& options() const { return options_; }
  bool has(size_t i) const { return i < node_->inputs.size() && !node_->inputs[i].empty(); }
  const onnx::shape& output_dims(size_t i = 0) { return model_.of(node_->outputs.at(i)).dims; }
  data_type output_type(size_t i = 0) { return model_.of(node_->outputs.at(i)).type; }
  [[noreturn]] void fail(const std::string& what);

  // For operators: inputs.
  device_value in(size_t i) { return value_of(node_->inputs.at(i)); }  ///< in any layout
  device_value plain(size_t i) { return made_plain(in(i)); }
  device_value value_of(const std::string& name);
  /// The numbers of input i, if they are known before the first run.
  std::span<const float> known_numbers(size_t i);
  device_value made_plain(const device_value& v) { return arranged(v, onnx::strides_of(v.dims)); }
  /// `v` with these strides; copied unless it has them.
  device_value arranged(const device_value& v, const onnx::shape& strides);
  device_value constant(const onnx::tensor& content);
  void use(const device_value& v);  ///< extends the lifetime of `v` to here

  // For operators: fusion with following nodes.
  /// The only node that reads `name`; null unless there is exactly one, or if `name` is an output as well.
  const onnx::node* sole_reader(const std::string& name) const;
  /// True if the value is computed already, or known.
  bool is_available(const std::string& name);
  void take(const onnx::node& n) { taken_.insert(&n); }  ///< `n` will not be visited
  onnx::shaped_model& model() { return model_; }

  // For operators: outputs and steps.
  device_value make(data_type type, onnx::shape dims) { return make(type, dims, onnx::strides_of(dims)); }
  device_value make(data_type type, onnx::shape dims, onnx::shape strides);
  void define(const std::string& name, device_value v) { values_[name] = std::move(v); }
  void define(device_value v) { define(node_->outputs.front(), std::move(v)); }
  void emit(program_step step) { program_.steps.push_back(std::move(step)); }
  uint32_t add_fault(fault_text text);
  /// Copies a box of elements. first: offsets, in elements.
  void copy(data_type type, const onnx::shape& dims, const place& from, const onnx::shape& from_steps,
            int64_t from_first, const place& to, const onnx::shape& to_steps, int64_t to_first);
  /// Writes x into `out` at offset `before`, and fills the rest with an element of these bytes. A negative
  /// `before` cuts off.
  void pad(const device_value& x, const device_value& out, const onnx::shape& before, uint64_t filler);

 private:
  struct buffer {
    size_t bytes = 0, first = 0, last = 0;
  };
  void lay_out();

  onnx::shaped_model& model_;
  const program_options options_;
  tensor_program program_;
  std::deque<buffer> buffers_;
  std::map<std::string, device_value, std::less<>> values_;
  std::set<const onnx::node*> taken_;
  const onnx::node* node_ = nullptr;
  size_t time_ = 0;  // counts nodes
};

}  // namespace troupe::cuda
