#include "gpu/onnx/fixed_inputs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string_view>
#include <type_traits>
#include <utility>

#include "gpu/common/model_error.hpp"
#include "gpu/onnx/known_branches.hpp"
#include "gpu/onnx/loader.hpp"
#include "gpu/onnx/model_proto.hpp"
#include "gpu/onnx/structure.hpp"

namespace troupe::onnx {
namespace {

namespace proto = ::onnx;

constexpr int64_t max_elements = 1 << 20;

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& input, std::string_view why) {
  throw model_error(fmt::format("{}: constant '{}': {}", path.string(), input, why));
}

template <class T>
void fill(proto::TensorProto& t, double value, int64_t elements) {
  const auto typed = static_cast<T>(value);
  auto& raw = *t.mutable_raw_data();
  for (int64_t i = 0; i < elements; ++i) raw.append(reinterpret_cast<const char*>(&typed), sizeof typed);
}

template <class T>
bool holds(double value) {
  if constexpr (std::is_floating_point_v<T>) return std::abs(value) <= std::numeric_limits<T>::max();
  constexpr auto lowest = static_cast<double>(std::numeric_limits<T>::min());  // the highest is no double
  return std::trunc(value) == value && value >= lowest && value < -lowest;
}

template <class T>
bool fill_if_held(proto::TensorProto& t, double value, int64_t elements) {
  if (!holds<T>(value)) return false;
  fill<T>(t, value, elements);
  return true;
}

/// False: the type does not hold the value.
bool set_values(proto::TensorProto& t, double value, int64_t elements, const std::filesystem::path& path) {
  switch (t.data_type()) {
    case proto::TensorProto::FLOAT: return fill_if_held<float>(t, value, elements);
    case proto::TensorProto::DOUBLE: return fill_if_held<double>(t, value, elements);
    case proto::TensorProto::INT32: return fill_if_held<int32_t>(t, value, elements);
    case proto::TensorProto::INT64: return fill_if_held<int64_t>(t, value, elements);
    case proto::TensorProto::BOOL:
      if (value != 0 && value != 1) return false;
      fill<uint8_t>(t, value, elements);
      return true;
    default:
      fail(path, t.name(),
           "inputs of the types FP32, FP64, INT32, INT64 and BOOL can be fixed, not this one");
  }
}

/// Of the input, by the file or as given.
std::vector<int64_t> dims_of(const proto::ValueInfoProto& input, const input_shape* given,
                             const std::filesystem::path& path) {
  if (given != nullptr) return given->dims;
  const auto& type = input.type().tensor_type();
  if (!type.has_shape()) fail(path, input.name(), "the file does not say its shape; give it");
  std::vector<int64_t> out;
  for (const auto& d : type.shape().dim()) {
    if (!d.has_dim_value()) fail(path, input.name(), "its shape is dynamic; give it");
    out.push_back(d.dim_value());
  }
  return out;
}

int64_t count(const std::vector<int64_t>& dims) {
  int64_t n = 1;
  for (const auto d : dims)
    if (d < 0 || __builtin_mul_overflow(n, d, &n) || n > max_elements) return -1;
  return n;
}

std::string with_fixed_inputs(proto::ModelProto model, const std::filesystem::path& path,
                              const std::vector<input_constant>& values,
                              const std::vector<input_shape>& shapes) {
  check_structure(model, path.string());
  auto& graph = *model.mutable_graph();
  for (const auto& constant : values) {
    const auto& name = constant.name;
    const auto is_it = [&](const auto& i) { return i.name() == name; };
    auto& inputs = *graph.mutable_input();
    const auto input = std::find_if(inputs.begin(), inputs.end(), is_it);
    if (input == inputs.end()) {
      std::vector<std::string> names;
      for (const auto& i : inputs) names.push_back(i.name());
      fail(path, name, fmt::format("the model has no such input; its inputs are {}", fmt::join(names, ", ")));
    }
    const auto dims = dims_of(*input, find_input(shapes, name), path);
    const auto elements = count(dims);
    if (elements < 0) fail(path, name, fmt::format("has more than {} elements", max_elements));
    auto& initializers = *graph.mutable_initializer();  // which may hold the input's default
    initializers.erase(std::remove_if(initializers.begin(), initializers.end(), is_it), initializers.end());
    auto& t = *graph.add_initializer();
    t.set_name(name);
    t.set_data_type(input->type().tensor_type().elem_type());
    for (const auto d : dims) t.add_dims(d);
    if (!set_values(t, constant.value, elements, path))
      fail(path, name, fmt::format("{} is no value of its type", constant.value));
    inputs.erase(input);
  }
  take_known_branches(graph);
  std::string content;
  if (!model.SerializeToString(&content))
    throw model_error(fmt::format("{}: is larger than 2 GiB with its constants", path.string()));
  return content;
}

}  // namespace

std::string fix_inputs(const std::filesystem::path& path, const std::vector<input_constant>& values,
                       const std::vector<input_shape>& shapes) {
  return with_fixed_inputs(read_model_proto(path), path, values, shapes);
}

std::string fix_inputs(std::span<const std::byte> bytes, const std::string& file,
                       const std::vector<input_constant>& values, const std::vector<input_shape>& shapes) {
  proto::ModelProto model;
  if (bytes.size() > max_file_bytes || !model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    throw unreadable_model(fmt::format("{}: {}", file, not_a_model));
  return with_fixed_inputs(std::move(model), file, values, shapes);
}

}  // namespace troupe::onnx
