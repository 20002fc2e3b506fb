// Builds plans node by node. An operator's build function (operators.hpp) sees of it the node that it stands
// at: inputs with concrete shapes, attributes, and ways to define outputs and to emit steps.
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
  std::optional<tensor> constant;         ///< its content, if it is known now
  std::optional<parameter_id> parameter;  ///< whose content comes with a layer

  int64_t elements() const { return element_count(dims); }
};

class plan_builder {
 public:
  /// Which nodes read a value; a graph output is read by `nobody`, once.
  using readers = std::map<std::string, std::vector<const node*>, std::less<>>;
  static constexpr const node* nobody = nullptr;

  /// `w` and `r` may be null: no parameters, no fusion.
  plan_builder(const graph& g, weights* w, const readers* r);

  // For who drives the build:
  value& define_input(const std::string& name, data_type type, shape dims);
  void define_constant(const std::string& name, const tensor& content);
  void define_parameter(const std::string& name, const shape& dims, parameter_id id);
  void begin_layer();
  void build(const node& n);       ///< evaluates it right away if all its inputs are known
  void build_here(const node& n);  ///< always as steps
  const value& lookup(const std::string& name);
  const value& plain_of(const std::string& name);  ///< in row-major layout
  port port_of(const value& v) const;
  void keep(const value& v);  ///< to the end of the plan
  std::unique_ptr<plan> finish();
  /// For who reads a node that is built: the questions below are about this one now.
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
  const value& in(size_t i);       ///< in whatever layout it has
  const value& in_fp32(size_t i);  ///< the same; fails if it is of another type
  const value& plain(size_t i);    ///< row-major
  const value& plain_fp32(size_t i);
  value in_layout(const value& v, const dnnl::memory::desc& layout);
  std::vector<int64_t> constant_ints(size_t i);    ///< fails unless INT64/INT32 and known now
  std::optional<float> constant_scalar(size_t i);  ///< of an fp32 input with one known element
  /// Parameters and constants, seen as `from`, in layout `to`; packed once. Others are reordered at each run.
  address packed(const value& v, const dnnl::memory::desc& from, const dnnl::memory::desc& to);

  // For operators: fusion. Each takes over the nodes behind output 0 if nothing else reads it; output 0 then
  // stands for theirs.
  std::optional<value> take_bias(int64_t n);  ///< Add of a constant or parameter of shape [n]
  /// The other operand of an Add behind output 0, if it is an activation of the shape `dims` that nothing
  /// needs afterwards: output 0 may be added to it where it lies (`output_in_place`) if `take_residual` is
  /// called.
  std::optional<value> residual(const shape& dims);
  void take_residual();
  /// One of activation_function.hpp or a GELU, if there is one; output 0 has `rank` dimensions.
  void take_activation(dnnl::post_ops& ops, size_t rank);

  // For operators: outputs and steps.
  const value& output(size_t i, data_type type, shape dims);                    ///< row-major
  const value& output(size_t i, shape dims, const dnnl::memory::desc& layout);  ///< fp32
  const value& output_in_place(const value& residual);      ///< output 0, instead of what was there
  void output_alias(size_t i, const value& v, shape dims);  ///< the same memory under another shape
  void output_constant(size_t i, const tensor& content);
  void emit(std::function<void()> step) { plan_->steps_.push_back(std::move(step)); }
  struct argument {
    int kind;  ///< DNNL_ARG_...
    dnnl::memory::desc layout;
    address data;
  };
  void emit(const dnnl::primitive& p, const dnnl::memory::desc& scratchpad, std::vector<argument> arguments);
  static dnnl::primitive_attr attributes();  ///< with the scratchpad given by the plan
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
  std::string output_name_;  // of output 0: another one's after fusion
  std::vector<const node*> taken_;
  std::map<std::string, value, std::less<>> values_;
  std::map<address, std::deque<value>> reordered_;  // copies of a value in other layouts
  size_t scratch_size_ = 0;
  dnnl::stream stream_;
};

}  // namespace troupe::onnx
