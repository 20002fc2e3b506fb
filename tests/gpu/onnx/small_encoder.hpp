// A small encoder of texts as an ONNX file: the vector of a token is a row of a table.
#pragma once
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "onnx.pb.h"

namespace troupe::onnx {

/// Tokens 0 to 3 have the vectors (0, 0), (1, 0), (0, 2) and (3, 4); the type of a token adds ten times
/// itself.
struct small_encoder {
  std::vector<std::string> inputs{"input_ids", "attention_mask"};
  int type = ::onnx::TensorProto::INT64;
  std::vector<int64_t> dims{-1, -1};         ///< of the inputs; -1: dynamic
  std::string output = "last_hidden_state";  ///< of all tokens; else of their mean: padding counts
  bool per_token = true;
  bool declared = true;  ///< the shape of the output

  ::onnx::ModelProto proto() const {
    ::onnx::ModelProto m;
    m.set_ir_version(8);
    m.add_opset_import()->set_version(14);
    auto& g = *m.mutable_graph();
    g.set_name("encoder");
    for (const auto& name : inputs) add_value(*g.add_input(), name, type, dims);
    add_table(g, "words", {0, 0, 1, 0, 0, 2, 3, 4});
    std::string x = add_node(g, "Gather", {"words", "input_ids"}, "vectors");
    if (inputs.size() > 2) {
      add_table(g, "types", {0, 0, 10, 10});
      x = add_node(g, "Add", {x, add_node(g, "Gather", {"types", inputs.back()}, "type_vectors")}, "sum");
    }
    if (per_token) {
      add_node(g, "Identity", {x}, output);
    } else {
      add_node(g, "ReduceMean", {x}, output);
      auto& node = *g.mutable_node()->rbegin();
      auto& axes = *node.add_attribute();
      axes.set_name("axes");
      axes.set_type(::onnx::AttributeProto::INTS);
      axes.add_ints(1);
      auto& keep = *node.add_attribute();
      keep.set_name("keepdims");
      keep.set_type(::onnx::AttributeProto::INT);
      keep.set_i(0);
    }
    std::vector<int64_t> result{-1, 2};
    if (per_token) result.insert(result.begin() + 1, -1);
    add_value(*g.add_output(), output, ::onnx::TensorProto::FLOAT, result);
    if (!declared) g.mutable_output(0)->mutable_type()->mutable_tensor_type()->clear_shape();
    return m;
  }
  void write(const std::filesystem::path& file) const {
    std::filesystem::create_directories(file.parent_path());
    std::ofstream out(file, std::ios::binary);
    proto().SerializeToOstream(&out);
  }

 private:
  static void add_value(::onnx::ValueInfoProto& v, const std::string& name, int type,
                        const std::vector<int64_t>& axes) {
    v.set_name(name);
    auto& tensor = *v.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(type);
    auto& to = *tensor.mutable_shape();
    for (const auto d : axes) {
      auto& dim = *to.add_dim();
      if (d > 0) dim.set_dim_value(d);
    }
  }
  static void add_table(::onnx::GraphProto& g, const char* name, const std::vector<float>& values) {
    auto& t = *g.add_initializer();
    t.set_name(name);
    t.set_data_type(::onnx::TensorProto::FLOAT);
    t.add_dims(static_cast<int64_t>(values.size() / 2));
    t.add_dims(2);
    for (const auto v : values) t.add_float_data(v);
  }
  static std::string add_node(::onnx::GraphProto& g, const char* op, const std::vector<std::string>& from,
                              const std::string& to) {
    auto& n = *g.add_node();
    n.set_op_type(op);
    for (const auto& i : from) n.add_input(i);
    n.add_output(to);
    return to;
  }
};

}  // namespace troupe::onnx
