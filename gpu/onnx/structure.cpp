#include "gpu/onnx/structure.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>

#include "gpu/common/model_error.hpp"
#include "gpu/onnx/graph.hpp"

namespace troupe::onnx {
namespace {

namespace proto = ::onnx;

struct stored {
  uint64_t bytes;  ///< of an element
  int64_t given;   ///< elements in the field of the type; none if they are raw
};

/// Of types in all versions of ONNX. Nothing for types without a check.
std::optional<stored> stored_as(const proto::TensorProto& t) {
  constexpr int first_float8 = 17, last_float8 = 20;  // newer than the packaged onnx.proto
  const auto type = t.data_type();
  switch (type) {
    case proto::TensorProto::FLOAT: return stored{4, t.float_data_size()};
    case proto::TensorProto::DOUBLE: return stored{8, t.double_data_size()};
    case proto::TensorProto::INT64: return stored{8, t.int64_data_size()};
    case proto::TensorProto::UINT64: return stored{8, t.uint64_data_size()};
    case proto::TensorProto::UINT32: return stored{4, t.uint64_data_size()};
    case proto::TensorProto::INT32: return stored{4, t.int32_data_size()};
    case proto::TensorProto::INT16:
    case proto::TensorProto::UINT16:
    case proto::TensorProto::FLOAT16:
    case proto::TensorProto::BFLOAT16: return stored{2, t.int32_data_size()};
    case proto::TensorProto::INT8:
    case proto::TensorProto::UINT8:
    case proto::TensorProto::BOOL: return stored{1, t.int32_data_size()};
    default: break;
  }
  if (type >= first_float8 && type <= last_float8) return stored{1, t.int32_data_size()};
  return {};
}

/// The names that a node may read: those of its graph so far, and of the graphs around it.
struct known_names {
  std::set<std::string_view> names = {};
  const known_names* around = nullptr;

  bool has(std::string_view name) const {
    return names.contains(name) || (around != nullptr && around->has(name));
  }
};

class structure_checker {
 public:
  explicit structure_checker(const std::string& file) : file_(file) {}

  void check(const proto::GraphProto& g, const known_names* around) const {
    known_names own{.around = around};
    for (const auto& t : g.sparse_initializer()) define(own, t.values().name(), "initializer");
    for (const auto& t : g.initializer()) {
      define(own, t.name(), "initializer");
      check(t, fmt::format("initializer '{}'", t.name()));
    }
    const auto initialised = own.names;  // older exporters list these as inputs, too
    for (const auto& i : g.input())
      if (!initialised.contains(i.name())) define(own, i.name(), "input");
    for (const auto& n : g.node()) check(n, own);
    for (const auto& o : g.output())
      if (!own.has(o.name())) fail(fmt::format("output '{}' is computed by no node", o.name()));
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw unreadable_model(fmt::format("{}: {}", file_, what));
  }

  void define(known_names& own, const std::string& name, std::string_view where) const {
    if (!own.names.insert(name).second) fail(fmt::format("{} '{}': the name is defined twice", where, name));
  }

  void check(const proto::NodeProto& n, known_names& own) const {
    const auto where = describe({n.name(), n.op_type(), {}, {n.output().begin(), n.output().end()}, {}});
    for (const auto& name : n.input())
      if (!name.empty() && !own.has(name))
        fail(fmt::format("{} reads '{}', which no node before it computes", where, name));
    for (const auto& a : n.attribute()) {
      if (a.has_g()) check(a.g(), &own);
      for (const auto& g : a.graphs()) check(g, &own);
      if (a.has_t()) check(a.t(), where);
      for (const auto& t : a.tensors()) check(t, where);
    }
    for (const auto& name : n.output())
      if (!name.empty()) define(own, name, where + " output");
  }

  void check(const proto::TensorProto& t, const std::string& where) const {
    const auto s = stored_as(t);
    const auto size = s ? s->bytes : 1;
    uint64_t needs = size;
    for (const auto d : t.dims())
      if (d < 0 || __builtin_mul_overflow(needs, static_cast<uint64_t>(d), &needs))
        fail(fmt::format("{} has the impossible shape {}", where, shape_of(t)));
    if (t.data_location() == proto::TensorProto::EXTERNAL || t.external_data_size() > 0)
      return check_external(t, where);
    if (!s) return;
    const auto has = t.has_raw_data() ? t.raw_data().size() : static_cast<uint64_t>(s->given) * size;
    if (has != needs)
      fail(fmt::format("{} holds {} bytes where its shape {} needs {}", where, has, shape_of(t), needs));
  }

  /// The other file is in the folder of this one.
  void check_external(const proto::TensorProto& t, const std::string& where) const {
    std::filesystem::path location;
    for (const auto& entry : t.external_data())
      if (entry.key() == "location") location = entry.value();
    const auto inside = location.lexically_normal();
    if (location.empty() || location.is_absolute() || *inside.begin() == "..")
      fail(fmt::format("{} keeps its data in '{}', outside of the folder of the model", where,
                       location.string()));
    const auto path = std::filesystem::path(file_).parent_path() / inside;
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error))
      fail(fmt::format("{} keeps its data in {}, which is no file: put it beside the model", where,
                       path.string()));
  }

  static std::string shape_of(const proto::TensorProto& t) {
    return to_string(shape{t.dims().begin(), t.dims().end()});
  }

  const std::string& file_;
};

}  // namespace

void check_structure(const proto::ModelProto& model, const std::string& file) {
  if (!model.has_graph()) throw unreadable_model(fmt::format("{}: the file holds no graph", file));
  structure_checker(file).check(model.graph(), nullptr);
}

}  // namespace troupe::onnx
