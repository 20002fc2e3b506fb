#include "gpu/device/native_model.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "gpu/checkpoint/encoder_folder.hpp"
#include "gpu/common/model_error.hpp"
#include "gpu/device/encoder_source.hpp"
#include "gpu/encoder/encoder_graph.hpp"
#include "gpu/encoder/onnx_encoder.hpp"
#include "gpu/onnx/loader.hpp"
#include "gpu/onnx/model.hpp"

namespace troupe {
namespace {

onnx::graph encoder_for(const model_source& source) {
  const auto [config, tokens] = read_encoder_source(source);
  return config.onnx.empty() ? encoder_graph(config, tokens) : onnx_encoder_graph(config, tokens);
}

/// Sets the shape of a row.
void fix_shape(onnx::graph& g, const input_shape& row) {
  const auto input = std::ranges::find(g.inputs, row.name, &onnx::graph_input::name);
  if (input == g.inputs.end()) {
    std::vector<std::string_view> names;
    for (const auto& i : g.inputs) names.push_back(i.name);
    throw model_error(
        fmt::format("{}: has no input '{}', which has a shape in the cluster file; its inputs "
                    "are {}",
                    g.file, row.name, fmt::join(names, ", ")));
  }
  const auto fits = [](int64_t of_file, int64_t given) { return of_file == -1 || of_file == given; };
  if (input->dims.size() != row.dims.size() + 1 ||
      !std::equal(row.dims.begin(), row.dims.end(), input->dims.begin() + 1,
                  [&](int64_t given, int64_t of_file) { return fits(of_file, given); }))
    throw model_error(fmt::format("{}: input '{}' has the shape {}: a row of it cannot be {}", g.file,
                                  row.name, onnx::to_string(input->dims), onnx::to_string(row.dims)));
  std::ranges::copy(row.dims, input->dims.begin() + 1);
}

}  // namespace

std::shared_ptr<const onnx::model> open_native(const model_source& source, const onnx::model* other) {
  onnx::graph g;
  if (is_encoder_folder(source.path)) {
    g = encoder_for(source);
  } else {
    g = onnx::load_graph(source.path);
    for (const auto& s : source.shapes) fix_shape(g, s);
  }
  auto out = std::make_shared<onnx::model>(std::move(g));
  if (other != nullptr) out->share_parameters(*other);
  return out;
}

}  // namespace troupe
