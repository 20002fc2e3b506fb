// Small ONNX files for tests: inputs and outputs of a chosen shape.
#pragma once
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "onnx.pb.h"

namespace troupe {

/// A file in which output y is the ReLU of input x; -1: a dynamic dimension. Makes its folder.
inline void write_relu(const std::filesystem::path& file, const std::vector<int64_t>& dims,
                       const char* first = "d0") {
  ::onnx::ModelProto m;
  m.set_ir_version(8);
  m.add_opset_import()->set_version(17);
  auto& g = *m.mutable_graph();
  g.set_name("relu");
  const auto describe = [&](::onnx::ValueInfoProto& info, const char* name) {
    info.set_name(name);
    auto& tensor = *info.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(::onnx::TensorProto::FLOAT);
    auto& shape = *tensor.mutable_shape();
    for (size_t i = 0; i < dims.size(); ++i) {
      auto& d = *shape.add_dim();
      if (dims[i] < 0)
        d.set_dim_param(i == 0 ? first : "d" + std::to_string(i));
      else
        d.set_dim_value(dims[i]);
    }
  };
  describe(*g.add_input(), "x");
  describe(*g.add_output(), "y");
  auto& node = *g.add_node();
  node.set_op_type("Relu");
  node.add_input("x");
  node.add_output("y");
  std::filesystem::create_directories(file.parent_path());
  std::ofstream out(file, std::ios::binary);
  m.SerializeToOstream(&out);
}

}  // namespace troupe
