// Builds plans node by node. It offers the build function of an operator (operators.hpp) the current node:
// inputs with concrete shapes, attributes, and functions to define outputs and emit steps.
#pragma once
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gpu/onnx/graph.hpp"
#include "gpu/onnx/layers.hpp"
#include "gpu/onnx/plan.hpp"

namespace troupe::onnx {

/// A tensor while a plan is built.
struct value {
  data_type type = data_type::fp32;
  shape dims;
  address data = nullptr;
  buffer* memory = nullptr;               ///< null: a constant or a parameter
  dnnl::memory::desc layout;              ///< fp32 only
  bool plain = true;                      ///< row-major
  std::optional<tensor> constant;         ///< content, if known when the plan is built
  std::optional<parameter_id> parameter;  ///< content comes with its layer

  int64_t elements() const { return element_count(dims); }
};

class plan_builder {
 public:
  /// The nodes that read each value; `graph_output` (null) stands for a graph output, once.
  using readers = std::map<std::string, std::vector<const node*>, std::less<>>;
  static constexpr const node* graph_output = nullptr;

  /// `w` and `r` may be null: no parameters, no fusion.
  plan_builder(const graph& g, weights* w, const readers* r);

  // For the caller that builds a plan:
  value& define_input(const std::string& name, data_type type, shape dims);
  void define_constant(const std::string& name, const tensor& content);
  void define_parameter(const std::string& name, const shape& dims, parameter_id id);
  void begin_layer();
  void build(const node& n);       ///< evaluates the node at once if all its inputs are known
  void build_here(const node& n);  ///< always emits steps
  const value& lookup(const std::string& name);
  const value& plain_of(const std::string& name);  ///< in row-major layout
  port port_of(const value& v) const;
  void keep(const value& v);  ///< keeps its memory to the end of the plan
  std::unique_ptr<plan> finish();
  /// Makes a node current that is built already; the functions below then refer to it.
  void stand_at(const node& n) { node_ = &n; }

  // For operators: the node.
  const node& current() const { return *node_; }
  int64_t opset() const { return graph_.opset; }
  [[noreturn]] void fail(const std::string& what) const;
  int64_t integer(std::string_view name, int64_t otherwise) const;
  float number(std::string_view name, float otherwise) const;
  std::string text(std::string_view name, const std::string& otherwise) const;
  const tensor* tensor_attribute(std::string_view name) const;  ///< null if it is not given
  std::optional<std::vector<int64_t>> integers(std::string_view name) const;
  int64_t axis(int64_t given, size_t rank) const;  ///< negative counts from the end; checked

  // For operators: inputs.
  bool has(size_t i) const { return i < node_->inputs.size() && !node_->inputs[i].empty(); }
  const value& in(size_t i);       ///< in any layout
  const value& in_fp32(size_t i);  ///< the same; fails if it has another type
  const value& plain(size_t i);    ///< row-major
  const value& plain_fp32(size_t i);
  value in_layout(const value& v, const dnnl::memory::desc& layout);
  std::vector<int64_t> constant_ints(size_t i);    ///< fails unless INT64/INT32 and known
  std::optional<float> constant_scalar(size_t i);  ///< value of an fp32 input with one known element
  /// The value, read as `from`, in layout `to`. Parameters and constants are packed once; others at each run.
  address packed(const value& v, const dnnl::memory::desc& from, const dnnl::memory::desc& to);

  // For operators: fusion. Each function takes over the nodes behind output 0 if nothing else reads it.
  // Output 0 then stands for their output.
  std::optional<value> take_bias(int64_t n);  ///< Add of a constant or parameter of shape [n]
  /// The other operand of an Add behind output 0, if it is an activation of the shape `dims` without later
  /// readers. After `take_residual`, output 0 may be added to it in place (`output_in_place`).
  std::optional<value> residual(const shape& dims);
  void take_residual();
  /// Takes over an activation of activation_function.hpp or a GELU, if there is one. `rank`: of output 0.
  void take_activation(dnnl::post_ops& ops, size_t rank);

  // For operators: outputs and steps.
  const value& output(size_t i, data_type type, shape dims);                    ///< row-major
  const value& output(size_t i, shape dims, const dnnl::memory::desc& layout);  ///< fp32
  const value& output_in_place(const value& residual);      ///< output 0 replaces the old content
  void output_alias(size_t i, const value& v, shape dims);  ///< the same memory under another shape
  void output_constant(size_t i, const tensor& content);
  void emit(std::function<void()> step) { plan_->steps_.push_back(std::move(step)); }
  struct argument {
    int kind;  ///< DNNL_ARG_...
    dnnl::memory::desc layout;
    address data;
  };
  void emit(const dnnl::primitive& p, const dnnl::memory::desc& scratchpad, std::vector<argument> arguments);
  static dnnl::primitive_attr attributes();  ///< with the plan's scratchpad
  void count_flops(double n) { plan_->flops += n; }
  void count_pooled(double n) { plan_->pooled += n; }

 private:
  value make_value(data_type type, shape dims, size_t bytes);
  void touch(const value& v);
  value reordered(const value& v, const dnnl::memory::desc& layout);
  const value& define(size_t i, value v);
  const node* sole_reader();
  bool is_built(const node& n) const;
  void take(const node* n);
  template <class T>
  const T* find_attribute(std::string_view name) const;

  const graph& graph_;
  weights* weights_;
  const readers* readers_;
  std::unique_ptr<plan> plan_;
  const node* node_ = nullptr;
  size_t time_ = 0;          // counts nodes
  std::string output_name_;  // of output 0; after fusion, that of the last fused node
  std::vector<const node*> taken_;
  std::map<std::string, value, std::less<>> values_;
  std::map<address, std::deque<value>> reordered_;  // copies of a value in other layouts
  size_t scratch_size_ = 0;
  fold_budget known_budget_{4 * max_folded_bytes};  // of values that a batch size makes known
  dnnl::stream stream_;
};

}  // namespace troupe::onnx
