// plan_builder: checked access to the attributes and inputs of a node.
#include <fmt/format.h>

#include "gpu/onnx/plan_builder.hpp"

namespace troupe::onnx {

template <class T>
const T* plan_builder::find_attribute(std::string_view name) const {
  const auto found = node_->attributes.find(name);
  if (found == node_->attributes.end()) return nullptr;
  const auto* content = std::get_if<T>(&found->second);
  if (!content) fail(fmt::format("attribute '{}' is of the wrong type", name));
  return content;
}

int64_t plan_builder::integer(std::string_view name, int64_t otherwise) const {
  const auto* found = find_attribute<int64_t>(name);
  return found ? *found : otherwise;
}

float plan_builder::number(std::string_view name, float otherwise) const {
  const auto* found = find_attribute<float>(name);
  return found ? *found : otherwise;
}

std::string plan_builder::text(std::string_view name, const std::string& otherwise) const {
  const auto* found = find_attribute<std::string>(name);
  return found ? *found : otherwise;
}

const tensor* plan_builder::tensor_attribute(std::string_view name) const {
  return find_attribute<tensor>(name);
}

std::optional<std::vector<int64_t>> plan_builder::integers(std::string_view name) const {
  const auto* found = find_attribute<std::vector<int64_t>>(name);
  return found ? std::optional{*found} : std::nullopt;
}

int64_t plan_builder::axis(int64_t given, size_t rank) const {
  const auto n = static_cast<int64_t>(rank);
  if (given < -n || given >= n) fail(fmt::format("axis {} does not exist in {} dimensions", given, n));
  return given < 0 ? given + n : given;
}

const value& plan_builder::in(size_t i) {
  if (!has(i)) fail(fmt::format("input {} is missing", i));
  const auto& v = lookup(node_->inputs[i]);
  touch(v);
  return v;
}

const value& plan_builder::in_fp32(size_t i) {
  const auto& v = in(i);
  if (v.type != data_type::fp32) {
    fail(fmt::format("input '{}' is {}, but must be FP32: export the model in float32", node_->inputs[i],
                     to_string(v.type)));
  }
  if (v.elements() == 0) fail(fmt::format("input '{}' is empty", node_->inputs[i]));
  return v;
}

const value& plan_builder::plain(size_t i) {
  in(i);
  return plain_of(node_->inputs[i]);
}

const value& plan_builder::plain_fp32(size_t i) {
  in_fp32(i);
  return plain_of(node_->inputs[i]);
}

std::vector<int64_t> plan_builder::constant_ints(size_t i) {
  const auto& v = in(i);
  if (!v.constant || (v.type != data_type::int64 && v.type != data_type::int32)) {
    fail(fmt::format("input '{}' must be an integer tensor that depends on nothing but shapes",
                     node_->inputs[i]));
  }
  if (v.type == data_type::int64) {
    const auto content = v.constant->as<int64_t>();
    return {content.begin(), content.end()};
  }
  const auto content = v.constant->as<int32_t>();
  return {content.begin(), content.end()};
}

std::optional<float> plan_builder::constant_scalar(size_t i) {
  const auto& v = in(i);
  if (!v.constant || v.type != data_type::fp32 || v.elements() != 1) return std::nullopt;
  return v.constant->as<float>()[0];
}

}  // namespace troupe::onnx
