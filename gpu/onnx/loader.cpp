#include "gpu/onnx/loader.hpp"

#include <fmt/format.h>

#include <cstring>
#include <fstream>

#include "gpu/onnx/model_proto.hpp"
#include "gpu/onnx/structure.hpp"

namespace troupe::onnx {

// The generated protobuf classes: in here, `onnx` alone names troupe::onnx.
namespace proto = ::onnx;

std::string describe(const node& n) {
  const auto& name = !n.name.empty() || n.outputs.empty() ? n.name : n.outputs.front();
  return fmt::format("node '{}' ({})", name, n.op);
}

std::optional<data_type> type_numbered(int64_t onnx_type) {
  switch (onnx_type) {
    case proto::TensorProto::FLOAT: return data_type::fp32;
    case proto::TensorProto::DOUBLE: return data_type::fp64;
    case proto::TensorProto::FLOAT16: return data_type::fp16;
    case proto::TensorProto::BFLOAT16: return data_type::bf16;
    case proto::TensorProto::INT8: return data_type::int8;
    case proto::TensorProto::INT16: return data_type::int16;
    case proto::TensorProto::INT32: return data_type::int32;
    case proto::TensorProto::INT64: return data_type::int64;
    case proto::TensorProto::UINT8: return data_type::uint8;
    case proto::TensorProto::UINT16: return data_type::uint16;
    case proto::TensorProto::UINT32: return data_type::uint32;
    case proto::TensorProto::UINT64: return data_type::uint64;
    case proto::TensorProto::BOOL: return data_type::boolean;
    default: return std::nullopt;
  }
}

namespace {

class reader {
 public:
  explicit reader(const std::string& file) { graph_.file = file; }

  graph read(const proto::ModelProto& model) {
    read_opset(model);
    const auto& g = model.graph();
    if (g.sparse_initializer_size() > 0) fail("sparse initializers are not supported: store them densely");
    for (const auto& t : g.initializer()) {
      add_constant(t.name(), read_tensor(t, fmt::format("initializer '{}'", t.name())));
    }
    for (const auto& i : g.input()) read_input(i);
    for (const auto& n : g.node()) read_node(n);
    for (const auto& o : g.output()) graph_.outputs.push_back(o.name());
    if (graph_.inputs.empty()) fail("the graph has no input");
    if (graph_.outputs.empty()) fail("the graph has no output");
    return std::move(graph_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw model_error(fmt::format("{}: {}", graph_.file, what));
  }

  void add_constant(const std::string& name, tensor value) {
    graph_.constants.emplace(name, std::move(value));
  }

  void read_opset(const proto::ModelProto& model) {
    for (const auto& import : model.opset_import()) {
      if (import.domain().empty() || import.domain() == "ai.onnx") graph_.opset = import.version();
    }
    if (graph_.opset < oldest_opset || graph_.opset > newest_opset) {
      fail(fmt::format("opset {} is not supported: export the model with opset {} to {}", graph_.opset,
                       oldest_opset, newest_opset));
    }
    if (model.graph().node_size() == 0) fail("the graph has no node");
  }

  void read_input(const proto::ValueInfoProto& info) {
    if (graph_.constants.contains(info.name())) return;  // older exporters list initialisers as inputs, too
    const auto where = fmt::format("input '{}'", info.name());
    if (!info.type().has_tensor_type()) fail(where + " is not a tensor");
    const auto& tensor_type = info.type().tensor_type();
    const auto type = type_numbered(tensor_type.elem_type());
    if (!type)
      fail(fmt::format("{} has element type {}, which is not supported", where, tensor_type.elem_type()));
    if (!tensor_type.has_shape()) fail(where + " has no shape: export the model with input shapes");
    graph_input input{info.name(), *type, {}};
    for (const auto& dim : tensor_type.shape().dim()) {
      if (dim.has_dim_value() && dim.dim_value() < 1) {
        fail(fmt::format("{} has a dimension of {}", where, dim.dim_value()));
      }
      input.dims.push_back(dim.has_dim_value() ? dim.dim_value() : -1);
    }
    if (input.dims.size() > max_rank) fail(where + " has too many dimensions");
    graph_.inputs.push_back(std::move(input));
  }

  void read_node(const proto::NodeProto& n) {
    node out{n.name(),
             n.op_type(),
             {n.input().begin(), n.input().end()},
             {n.output().begin(), n.output().end()},
             {}};
    const auto where = describe(out);
    if (!n.domain().empty() && n.domain() != "ai.onnx") {
      fail(fmt::format("{} is of the operator set '{}': only the standard set is supported", where,
                       n.domain()));
    }
    if (out.outputs.empty() || out.outputs.front().empty()) fail(where + " has no output");
    for (const auto& a : n.attribute()) read_attribute(a, where, out);
    if (out.op == "Constant") {
      add_constant(out.outputs.front(), constant_value(out));
      return;
    }
    graph_.nodes.push_back(std::move(out));
  }

  void read_attribute(const proto::AttributeProto& a, const std::string& where, node& out) {
    using proto::AttributeProto;
    auto& value = out.attributes[a.name()];
    switch (a.type()) {
      case AttributeProto::INT: value = static_cast<int64_t>(a.i()); break;
      case AttributeProto::FLOAT: value = a.f(); break;
      case AttributeProto::STRING: value = a.s(); break;
      case AttributeProto::INTS: value = std::vector<int64_t>(a.ints().begin(), a.ints().end()); break;
      case AttributeProto::FLOATS: value = std::vector<float>(a.floats().begin(), a.floats().end()); break;
      case AttributeProto::TENSOR: value = read_tensor(a.t(), where); break;
      default: fail(fmt::format("{}: attribute '{}' has a type that is not supported", where, a.name()));
    }
  }

  tensor constant_value(const node& n) const {
    if (n.attributes.size() == 1) {
      const auto& [name, value] = *n.attributes.begin();
      if (const auto* t = std::get_if<tensor>(&value); t && name == "value") return *t;
      if (const auto* i = std::get_if<int64_t>(&value); i && name == "value_int") {
        return make_tensor(data_type::int64, {}, std::as_bytes(std::span{i, 1}));
      }
      if (const auto* f = std::get_if<float>(&value); f && name == "value_float") {
        return make_tensor(data_type::fp32, {}, std::as_bytes(std::span{f, 1}));
      }
      if (const auto* v = std::get_if<std::vector<int64_t>>(&value); v && name == "value_ints")
        return make_ints(*v);
      if (const auto* v = std::get_if<std::vector<float>>(&value); v && name == "value_floats") {
        return make_tensor(data_type::fp32, {static_cast<int64_t>(v->size())}, std::as_bytes(std::span{*v}));
      }
    }
    fail(describe(n) + " needs exactly one numeric value");
  }

  tensor read_tensor(const proto::TensorProto& t, const std::string& where) const {
    if (t.data_location() == proto::TensorProto::EXTERNAL || t.external_data_size() > 0) {
      fail(where + " keeps its data in another file: save the model with its weights inside");
    }
    const auto type = type_numbered(t.data_type());
    if (!type) fail(fmt::format("{} has element type {}, which is not supported", where, t.data_type()));
    shape dims(t.dims().begin(), t.dims().end());
    const int64_t count = element_count(dims);
    if (count < 0) fail(fmt::format("{} has the impossible shape {}", where, to_string(dims)));
    if (t.has_raw_data()) return make_tensor(*type, std::move(dims), std::as_bytes(std::span{t.raw_data()}));
    switch (*type) {
      case data_type::fp32: return from_field<float>(t.float_data(), *type, dims);
      case data_type::fp64: return from_field<double>(t.double_data(), *type, dims);
      case data_type::int64: return from_field<int64_t>(t.int64_data(), *type, dims);
      case data_type::uint64: return from_field<uint64_t>(t.uint64_data(), *type, dims);
      case data_type::uint32: return from_field<uint32_t>(t.uint64_data(), *type, dims);
      case data_type::int32: return from_field<int32_t>(t.int32_data(), *type, dims);
      default: break;
    }
    if (size_of(*type) == 2) return from_field<uint16_t>(t.int32_data(), *type, dims);
    return from_field<uint8_t>(t.int32_data(), *type, dims);
  }

  /// Values of one of the typed fields, narrowed to the element type.
  template <class T, class Field>
  static tensor from_field(const Field& field, data_type type, const shape& dims) {
    std::vector<T> values;
    values.reserve(static_cast<size_t>(field.size()));
    for (const auto v : field) values.push_back(static_cast<T>(v));
    return make_tensor(type, dims, std::as_bytes(std::span{values}));
  }

  graph graph_;
};

}  // namespace

graph graph_of(const proto::ModelProto& model, const std::string& file) {
  check_structure(model, file);
  return reader(file).read(model);
}

void check_file(const std::filesystem::path& path) { check_structure(read_model_proto(path), path.string()); }

graph load_graph(const std::filesystem::path& path) {
  return graph_of(read_model_proto(path), path.string());
}

graph parse_graph(std::span<const std::byte> bytes, const std::string& file) {
  proto::ModelProto model;
  if (bytes.size() > max_file_bytes || !model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    throw model_error(fmt::format("{}: {}", file, not_a_model));
  }
  return graph_of(model, file);
}

}  // namespace troupe::onnx
