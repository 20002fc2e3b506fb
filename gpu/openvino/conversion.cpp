#include "gpu/openvino/conversion.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <openvino/core/attribute_visitor.hpp>
#include <openvino/frontend/input_model.hpp>
#include <openvino/frontend/manager.hpp>
#include <openvino/op/util/multi_subgraph_base.hpp>
#include <set>
#include <sstream>
#include <string_view>
#include <vector>

#include "gpu/common/model_error.hpp"
#include "gpu/openvino/brief.hpp"

namespace troupe::vino {
namespace {

std::string name_of(const ov::frontend::Place& place) {
  const auto names = place.get_names();
  return names.empty() ? "" : names.front();
}

const std::shared_ptr<ov::frontend::FrontEnd>& frontend() {
  static ov::frontend::FrontEndManager all;
  static const auto onnx = all.load_by_framework("onnx");
  return onnx;
}

ov::frontend::InputModel::Ptr load(const model_source& source, const std::string& content) {
  std::istringstream stream(content);
  return content.empty() ? frontend()->load(source.path)
                         : frontend()->load(static_cast<std::istream*>(&stream), source.path);
}

/// Sets the inputs' shapes of the source.
void set_shapes(ov::frontend::InputModel& input, const model_source& source) {
  std::vector<std::string> names;
  std::set<std::string> left;
  for (const auto& s : source.shapes)
    if (find_input(source.constants, s.name) == nullptr) left.insert(s.name);
  for (const auto& place : input.get_inputs()) {
    const auto& name = names.emplace_back(name_of(*place));
    const auto* shape = find_input(source.shapes, name);
    if (shape == nullptr) continue;
    std::vector<ov::Dimension> dims(shape->dims.begin(), shape->dims.end());
    if (source.batched && find_input(source.constants, name) == nullptr)
      dims.insert(dims.begin(), ov::Dimension());
    input.set_partial_shape(place, ov::PartialShape(dims));
    left.erase(name);
  }
  if (!left.empty())
    throw model_error(
        fmt::format("has no input '{}'; its inputs are {}", *left.begin(), fmt::join(names, ", ")));
}

/// Reads the ONNX operator of a node that was not converted.
struct operator_reader : ov::AttributeVisitor {
  std::string name;
  void on_adapter(const std::string&, ov::ValueAccessor<void>&) override {}
  void on_adapter(const std::string& attribute, ov::ValueAccessor<std::string>& value) override {
    if (attribute == "ONNX_META_type") name = value.get();
  }
};

void collect_unconverted(const ov::Model& model, std::vector<std::string>& out) {
  for (const auto& node : model.get_ordered_ops()) {
    if (std::string_view(node->get_type_name()).find("ONNX") != std::string_view::npos) {
      operator_reader op;
      node->visit_attributes(op);
      out.push_back(fmt::format("node '{}' ({})", node->get_friendly_name(), op.name));
    } else if (const auto nest = ov::as_type_ptr<ov::op::util::MultiSubGraphOp>(node)) {
      for (const auto& inner : nest->get_functions()) collect_unconverted(*inner, out);
    }
  }
}

/// Nodes that OpenVINO does not convert; empty: it does not say. The input of a failed conversion is of no
/// more use, so the file is loaded anew.
std::string unconverted(const model_source& source, const std::string& content) {
  constexpr size_t listed = 5;
  std::vector<std::string> nodes;
  try {
    const auto input = load(source, content);  // outlives the nodes, which refer to it
    set_shapes(*input, source);
    collect_unconverted(*frontend()->convert_partially(input), nodes);
  } catch (const std::exception&) {
    return {};
  }
  const auto more = nodes.size() > listed ? fmt::format(" and {} more", nodes.size() - listed) : "";
  nodes.resize(std::min(nodes.size(), listed));
  return fmt::format("{}{}", fmt::join(nodes, ", "), more);
}

}  // namespace

std::shared_ptr<ov::Model> convert(const model_source& source, const std::string& content) {
  const auto input = load(source, content);
  set_shapes(*input, source);
  try {
    return frontend()->convert(input);
  } catch (const std::exception& e) {
    const auto nodes = unconverted(source, content);
    if (nodes.empty()) throw;
    throw model_error(fmt::format("OpenVINO does not convert {}: {}", nodes, brief(e)));
  }
}

}  // namespace troupe::vino
