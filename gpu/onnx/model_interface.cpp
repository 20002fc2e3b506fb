#include "gpu/onnx/model_interface.hpp"

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

}  // namespace

model_interface read_interface(const std::filesystem::path& path) {
  const auto model = read_model_proto(path);
  std::set<std::string> initialised;
  for (const auto& t : model.graph().initializer()) initialised.insert(t.name());
  model_interface out;
  for (const auto& i : model.graph().input())
    if (!initialised.contains(i.name())) out.inputs.push_back(read_declared(i));
  for (const auto& o : model.graph().output()) out.outputs.push_back(read_declared(o));
  return out;
}

}  // namespace troupe::onnx
