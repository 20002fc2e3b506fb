#include "gpu/openvino/guard.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <openvino/op/constant.hpp>
#include <openvino/op/parameter.hpp>
#include <openvino/op/range.hpp>
#include <openvino/op/slice.hpp>
#include <openvino/op/util/multi_subgraph_base.hpp>
#include <set>
#include <string>
#include <vector>

#include "gpu/common/model_error.hpp"

namespace troupe::vino {
namespace {

constexpr int64_t max_tensor_bytes = int64_t{1} << 32;
constexpr int64_t max_dimension = INT32_MAX;  // the plug-in computes in 32 bits
/// Of values that are computed from constants: so many in a small file, and so many times those of a large.
constexpr uint64_t max_folded_bytes = uint64_t{1} << 28, folded_copies = 64;

[[noreturn]] void fail(const ov::Node& node, const std::string& what) {
  if (ov::is_type<ov::op::v0::Parameter>(&node))
    throw model_error(fmt::format("input '{}' {}", node.get_friendly_name(), what));
  throw model_error(fmt::format("node '{}' ({}) {}", node.get_friendly_name(), node.get_type_name(), what));
}

const ov::op::v0::Constant* constant(const ov::Node& node, size_t input) {
  return ov::as_type<ov::op::v0::Constant>(node.get_input_node_ptr(input));
}

/// Bytes of an output with its free dimensions at their least. Throws model_error.
int64_t least_bytes(const ov::Node& node, const ov::Output<const ov::Node>& output) {
  const auto& shape = output.get_partial_shape();
  int64_t bytes = std::max<int64_t>(1, static_cast<int64_t>(output.get_element_type().size()));
  if (shape.rank().is_dynamic()) return bytes;
  for (const auto& d : shape) {
    const auto least = std::max<int64_t>(d.get_min_length(), d.is_static() ? 0 : 1);
    if (least > max_dimension || __builtin_mul_overflow(bytes, least, &bytes) || bytes > max_tensor_bytes)
      fail(node, fmt::format("has the shape {}, which is too large: a dimension has at most {}, and a "
                             "tensor {} bytes",
                             shape.to_string(), max_dimension, max_tensor_bytes));
  }
  return bytes;
}

/// Inputs for which the plug-in ends the process.
void check_inputs(const ov::Node& node, bool folds_inputs) {
  if (!folds_inputs && ov::is_type<ov::op::v8::Slice>(&node) && node.get_input_size() > 4 &&
      constant(node, 4) == nullptr)
    fail(node, "has axes that are no constant, and OpenVINO does not run that");
  if (!ov::is_type<ov::op::v4::Range>(&node)) return;
  const auto* step = constant(node, 2);
  if (step == nullptr) fail(node, "has a step that is no constant, and OpenVINO does not run that");
  for (size_t i = 0; i < 3; ++i) {
    const auto* value = constant(node, i);
    if (value == nullptr) continue;
    const auto number = value->cast_vector<double>(1);
    if (number.empty()) continue;
    if (i == 2 && number[0] == 0) fail(node, "has a step of 0");
    if (value->get_element_type().is_integral_number() && !(number[0] >= INT32_MIN && number[0] <= INT32_MAX))
      fail(node, fmt::format("has the bound {}: OpenVINO computes integers in 32 bits", number[0]));
  }
}

bool is_constant(const ov::Node& node) { return ov::is_type<ov::op::v0::Constant>(&node); }

void check_graph(const ov::Model& model, bool folds_inputs, uint64_t& folded, uint64_t max_folded) {
  std::set<const ov::Node*> known;  // by constants alone
  for (const auto& node : model.get_ordered_ops()) {
    check_inputs(*node, folds_inputs);
    uint64_t bytes = 0;
    for (const auto& output : std::as_const(*node).outputs())
      bytes += static_cast<uint64_t>(least_bytes(*node, output));
    const auto inputs = node->input_values();
    const bool folds = !inputs.empty() && std::ranges::all_of(inputs, [&](const auto& i) {
      return is_constant(*i.get_node()) || known.contains(i.get_node());
    });
    if (folds) {
      known.insert(node.get());
      folded += bytes;
      if (folded > max_folded)
        fail(*node, fmt::format("makes {} bytes of constants; all that are computed may have {}", bytes,
                                max_folded));
    }
    if (const auto* nest = ov::as_type<const ov::op::util::MultiSubGraphOp>(node.get()))
      for (const auto& inner : nest->get_functions()) check_graph(*inner, folds_inputs, folded, max_folded);
  }
}

}  // namespace

void check_bounds(const ov::Model& model, bool folds_inputs) {
  uint64_t of_file = 0, folded = 0;
  for (const auto& node : model.get_ordered_ops())
    if (const auto c = ov::as_type_ptr<ov::op::v0::Constant>(node)) of_file += c->get_byte_size();
  check_graph(model, folds_inputs, folded, max_folded_bytes + folded_copies * of_file);
}

}  // namespace troupe::vino
