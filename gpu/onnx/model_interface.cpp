#include "gpu/onnx/model_interface.hpp"

#include <algorithm>
#include <cctype>
#include <set>

#include "gpu/onnx/loader.hpp"
#include "gpu/onnx/model_proto.hpp"

namespace troupe::onnx {
namespace {

std::optional<data_type> declared_type(int32_t onnx_type) {
  if (onnx_type == ::onnx::TensorProto::STRING) return data_type::bytes;
  return type_numbered(onnx_type);
}

declared_tensor read_declared(const ::onnx::ValueInfoProto& info) {
  const auto& tensor = info.type().tensor_type();
  declared_tensor out{info.name(), declared_type(tensor.elem_type()), {}};
  if (!tensor.has_shape()) return out;
  auto& dims = out.dims.emplace();
  for (const auto& d : tensor.shape().dim())
    dims.push_back(d.has_dim_value() && d.dim_value() > 0 ? d.dim_value() : -1);
  return out;
}

/// Empty: the first dimension has none.
std::string first_name(const ::onnx::ValueInfoProto& info) {
  const auto& shape = info.type().tensor_type().shape();
  return shape.dim_size() > 0 ? shape.dim(0).dim_param() : std::string();
}

bool says_batch(std::string name) {
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name.find("batch") != name.npos;
}

}  // namespace

model_interface read_interface(const std::filesystem::path& path) {
  const auto model = read_model_proto(path);
  std::set<std::string> initialised;
  for (const auto& t : model.graph().initializer()) initialised.insert(t.name());
  model_interface out;
  std::set<std::string> first_names;
  for (const auto& i : model.graph().input()) {
    if (initialised.contains(i.name())) continue;
    out.inputs.push_back(read_declared(i));
    first_names.insert(first_name(i));
  }
  for (const auto& o : model.graph().output()) {
    out.outputs.push_back(read_declared(o));
    first_names.insert(first_name(o));
  }
  out.names_batch = first_names.size() == 1 && says_batch(*first_names.begin());
  return out;
}

}  // namespace troupe::onnx
