#include "gpu/openvino/graph.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gpu/common/model_error.hpp"
#include "gpu/openvino/brief.hpp"
#include "gpu/openvino/conversion.hpp"
#include "gpu/openvino/element_type.hpp"
#include "gpu/openvino/guard.hpp"

namespace troupe::vino {
namespace {

// Batch sizes at which the shapes of outputs are compared. Primes hardly occur as dimensions by chance.
constexpr int64_t tried_rows = 3, other_rows = 5;
constexpr int64_t max_row_bytes = int64_t{1} << 34;  // of a tensor

/// "1x3x?x?": a dynamic dimension is a question mark.
std::string text_of(const ov::PartialShape& shape) {
  if (shape.rank().is_dynamic()) return "any shape";
  if (shape.size() == 0) return "no dimension";
  std::vector<std::string> dims;
  for (const auto& d : shape) dims.push_back(d.is_static() ? std::to_string(d.get_length()) : "?");
  return fmt::format("{}", fmt::join(dims, "x"));
}

/// The name of an output in the ONNX file.
std::string name_of(const ov::Output<const ov::Node>& output) {
  constexpr std::string_view suffix = "/sink_port_0";
  std::string_view own = output.get_node()->get_friendly_name();
  if (own.ends_with(suffix)) own.remove_suffix(suffix.size());
  const auto& names = output.get_names();
  return names.empty() || names.contains(std::string(own)) ? std::string(own) : *names.begin();
}

data_type type_of(const std::string& what, const ov::element::Type& type) {
  const auto found = data_type_of(type);
  if (!found)
    throw model_error(fmt::format("{} has elements of type {}, which no tensor of a request has", what,
                                  type.get_type_name()));
  return *found;
}

void check_batched(const ov::Output<const ov::Node>& input) {
  const auto& shape = input.get_partial_shape();
  const auto fix =
      "to run one request at a time, give the whole shapes of the inputs: --shape NAME=1x3x224x224, or "
      "batching = \"none\" and shapes in a cluster file";
  if (shape.rank().is_dynamic() || shape.size() == 0 || shape[0].is_static())
    throw model_error(
        fmt::format("input '{}' has the shape {}, without a dynamic first dimension for batches; {}",
                    name_of(input), text_of(shape), fix));
  if (std::any_of(shape.begin() + 1, shape.end(), [](const auto& d) { return d.is_dynamic(); }))
    throw model_error(fmt::format(
        "input '{}' has the shape {}; only the first dimension may be dynamic; give "
        "the shape of a row: --shape NAME=3x224x224 of troupe serve, or shapes in a cluster file; {}",
        name_of(input), text_of(shape), fix));
}

void check_static(const ov::Output<const ov::Node>& input) {
  if (input.get_partial_shape().is_static()) return;
  throw model_error(fmt::format(
      "input '{}' has the shape {}; give the whole shape: --shape {}=..., or in a cluster file shapes, or "
      "any_shape = true",
      name_of(input), text_of(input.get_partial_shape()), name_of(input)));
}

/// -1 for dimensions that are not static.
std::vector<int64_t> open_dims(const std::string& what, const ov::PartialShape& shape) {
  if (shape.rank().is_dynamic())
    throw model_error(fmt::format("{} has no fixed number of dimensions, and Troupe needs one", what));
  std::vector<int64_t> out;
  for (const auto& d : shape) out.push_back(d.is_static() ? d.get_length() : -1);
  return out;
}

void set_batch(ov::Model& model, const ov::Dimension& rows) {
  std::map<size_t, ov::PartialShape> shapes;
  for (size_t i = 0; i < model.inputs().size(); ++i) {
    auto shape = model.input(i).get_partial_shape();
    shape[0] = rows;
    shapes[i] = std::move(shape);
  }
  model.reshape(shapes);
}

std::shared_ptr<ov::Model> with_batch(const ov::Model& model, int64_t rows) {
  const auto copy = model.clone();
  set_batch(*copy, rows);
  return copy;
}

/// The shapes of the outputs; throws model_error if they depend on values.
std::vector<std::vector<int64_t>> output_shapes(const ov::Model& model) {
  std::vector<std::vector<int64_t>> out;
  for (const auto& output : model.outputs()) {
    const auto& shape = output.get_partial_shape();
    if (shape.is_dynamic())
      throw model_error(fmt::format("the shape of output '{}' depends on the values of inputs ({})",
                                    name_of(output), text_of(shape)));
    const auto dims = shape.to_shape();
    out.emplace_back(dims.begin(), dims.end());
  }
  return out;
}

/// Shapes of a row, where the first dimension follows the batch.
std::vector<std::vector<int64_t>> output_rows(const ov::Model& model) {
  const auto at = [&](int64_t rows) { return output_shapes(*with_batch(model, rows)); };
  auto out = at(tried_rows);
  const auto others = at(other_rows);
  for (size_t i = 0; i < out.size(); ++i) {
    auto& dims = out[i];
    auto expected = dims;
    if (!dims.empty() && dims[0] == tried_rows) expected[0] = other_rows;
    if (dims.empty() || dims[0] != tried_rows || expected != others[i])
      throw model_error(fmt::format("output '{}' does not have a row for each row of the inputs",
                                    name_of(model.output(i))));
    dims.erase(dims.begin());
  }
  return out;
}

/// The shapes of the outputs where inputs have any shape.
std::vector<std::vector<int64_t>> open_outputs(const ov::Model& model) {
  std::vector<std::vector<int64_t>> out;
  for (const auto& output : model.outputs())
    out.push_back(open_dims(fmt::format("output '{}'", name_of(output)), output.get_partial_shape()));
  return out;
}

/// What a request has of a tensor; throws model_error if no memory holds it.
tensor_spec spec_of(const std::string& what, const std::string& name, const ov::element::Type& type,
                    std::vector<int64_t> row) {
  int64_t bytes = 8;  // at most, of an element
  for (const auto d : row)
    if (d != -1 && (d < 1 || __builtin_mul_overflow(bytes, d, &bytes) || bytes > max_row_bytes))
      throw model_error(fmt::format("{} has the impossible shape {}", what, fmt::join(row, "x")));
  return {name, type_of(what, type), std::move(row)};
}

}  // namespace

void check_batch(const ov::Model& model, int64_t rows) { check_bounds(*with_batch(model, rows), true); }

graph read_graph(const model_source& source, const std::string& content) {
  try {
    graph g;
    g.model = convert(source, content);
    if (g.model->inputs().empty() || g.model->outputs().empty())
      throw model_error(fmt::format("has no {}", g.model->inputs().empty() ? "inputs" : "outputs"));
    const bool batched = g.signature.batched = source.batched;
    check_bounds(*g.model, !source.constants.empty());
    if (!source.any_shape)
      for (const auto& input : g.model->inputs()) batched ? check_batched(input) : check_static(input);
    auto shapes = source.any_shape ? open_outputs(*g.model)
                  : batched        ? output_rows(*g.model)
                                   : output_shapes(*g.model);
    for (const auto& input : g.model->inputs()) {
      const auto name = name_of(input);
      const auto what = fmt::format("input '{}'", name);
      auto dims = open_dims(what, input.get_partial_shape());
      if (batched) dims.erase(dims.begin());
      g.signature.inputs.push_back(spec_of(what, name, input.get_element_type(), std::move(dims)));
    }
    for (size_t i = 0; i < shapes.size(); ++i) {
      const auto output = g.model->output(i);
      const auto name = name_of(output);
      g.signature.outputs.push_back(
          spec_of(fmt::format("output '{}'", name), name, output.get_element_type(), std::move(shapes[i])));
    }
    if (source.any_shape && !has_free_dimension(g.signature))
      throw model_error("no dimension of an input or output is free; remove any_shape");
    if (batched) check_batch(*g.model, source.max_batch);
    return g;
  } catch (const model_error& e) {
    throw model_error(fmt::format("{}: {}", source.path, e.what()));
  } catch (const std::exception& e) {
    throw model_error(fmt::format("{}: OpenVINO cannot read it: {}", source.path, brief(e)));
  }
}

bool keeps_rows(const ov::Model& graph) {
  for (const int64_t rows : {2, 3}) {
    const auto some = graph.clone();
    std::map<size_t, ov::PartialShape> shapes;
    for (size_t i = 0; i < some->inputs().size(); ++i) {
      auto shape = some->input(i).get_partial_shape();
      if (shape.rank().is_dynamic() || shape.size() == 0 || shape[0].is_static()) return false;
      shape[0] = rows;
      shapes[i] = std::move(shape);
    }
    try {
      some->reshape(shapes);
    } catch (const std::exception&) {
      return false;
    }
    for (const auto& o : some->outputs()) {
      const auto& shape = o.get_partial_shape();
      if (shape.rank().is_dynamic() || shape.size() == 0 || shape[0] != ov::Dimension(rows)) return false;
    }
  }
  return true;
}

}  // namespace troupe::vino
