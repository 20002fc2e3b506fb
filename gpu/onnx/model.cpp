#include "gpu/onnx/model.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "gpu/common/model_error.hpp"
#include "gpu/onnx/loader.hpp"
#include "gpu/onnx/operators.hpp"
#include "gpu/onnx/plan.hpp"

namespace troupe::onnx {

model::model(graph g, fusion f) : graph_(std::move(g)), fusion_(f) {
  check_operators();
  check_inputs();
  drop_unused();
  fold_constants();
  if (f == fusion::on) fuse(graph_);
  drop_unused();
  auto layered = cut_into_layers(graph_);
  layers_ = std::move(layered.layers);
  blobs_ = std::move(layered.blobs);
  find_readers();
  infer_signature();
}

std::shared_ptr<const model> model::load(const std::filesystem::path& file) {
  return std::make_shared<const model>(load_graph(file));
}

uint64_t model::parameter_bytes() const {
  return std::accumulate(layers_.begin(), layers_.end(), uint64_t{0},
                         [](uint64_t sum, const layer& l) { return sum + l.bytes; });
}

void model::share_parameters(const model& other) {
  for (size_t i = 0; i < std::min(layers_.size(), other.layers_.size()); ++i)
    if (layers_[i].hash == other.layers_[i].hash && layers_[i].bytes == other.layers_[i].bytes)
      blobs_[i] = other.blobs_[i];
}

void model::check_output(size_t i, data_type type, const shape& dims, int64_t rows) const {
  const auto& promised = signature_.outputs[i];
  if (type == promised.type && dims == joined(std::span{&rows, 1}, promised.shape)) return;
  throw model_error(
      fmt::format("{}: output '{}' has shape {} for a batch of {}: its leading dimension must be the batch, "
                  "and the others the same for every batch",
                  graph_.file, promised.name, to_string(dims), rows));
}

void model::check_operators() const {
  std::vector<std::string> unknown;
  for (const auto& n : graph_.nodes) {
    const auto* entry = find_operator(n.op);
    if (!entry) {
      unknown.push_back(describe(n));
    } else if (n.inputs.size() < entry->min_inputs || n.inputs.size() > entry->max_inputs) {
      throw model_error(fmt::format("{}: {} has {} inputs", graph_.file, describe(n), n.inputs.size()));
    }
  }
  if (unknown.empty()) return;
  std::vector<std::string_view> known{"Constant"};
  for (const auto& entry : operators()) known.push_back(entry.name);
  throw model_error(fmt::format("{}: operators that are not supported: {}; supported are {}", graph_.file,
                                fmt::join(unknown, ", "), fmt::join(known, ", ")));
}

void model::check_inputs() const {
  for (const auto& input : graph_.inputs) {
    const auto fail = [&](const char* what) {
      throw model_error(fmt::format("{}: input '{}' with shape {} {}", graph_.file, input.name,
                                    to_string(input.dims), what));
    };
    if (input.dims.empty() || input.dims.front() != -1) {
      fail("has a fixed leading dimension: export the model with a dynamic batch dimension");
    }
    if (std::ranges::count(input.dims, -1) != 1) {
      fail("has more than one dynamic dimension: only the leading (batch) dimension may be dynamic");
    }
  }
}

void model::drop_unused() {
  std::set<std::string, std::less<>> needed(graph_.outputs.begin(), graph_.outputs.end());
  std::vector<node> kept;
  for (auto n = graph_.nodes.rbegin(); n != graph_.nodes.rend(); ++n) {
    if (std::ranges::none_of(n->outputs, [&](const auto& name) { return needed.contains(name); })) continue;
    needed.insert(n->inputs.begin(), n->inputs.end());
    kept.push_back(std::move(*n));
  }
  std::ranges::reverse(kept);
  graph_.nodes = std::move(kept);
  std::erase_if(graph_.constants, [&](const auto& c) { return !needed.contains(c.first); });
}

void model::fold_constants() {
  constexpr uint64_t copies = 8;  // of the file's constants, in other types and layouts
  uint64_t of_file = 0;
  for (const auto& [name, content] : graph_.constants) of_file += content.bytes();
  fold_budget budget(max_folded_bytes + copies * of_file);
  std::vector<node> kept;
  for (auto& n : graph_.nodes) {
    const bool constant = std::ranges::all_of(
        n.inputs, [&](const std::string& name) { return name.empty() || graph_.constants.contains(name); });
    if (!constant) {
      kept.push_back(std::move(n));
      continue;
    }
    std::vector<tensor> inputs;
    for (const auto& name : n.inputs) inputs.push_back(name.empty() ? tensor{} : graph_.constants.at(name));
    const auto outputs = n.op == "Identity" ? inputs : evaluate(graph_, n, inputs, budget);
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i].data) graph_.constants.insert_or_assign(n.outputs[i], outputs[i]);
    }
  }
  graph_.nodes = std::move(kept);
}

void model::find_readers() {
  for (const auto& n : graph_.nodes) {
    for (const auto& name : n.inputs) readers_[name].push_back(&n);
  }
  for (const auto& name : graph_.outputs) readers_[name].push_back(nullptr);
}

void model::infer_signature() {
  // Any batch size gives the shapes. An unlikely dimension also reveals most outputs that do not follow the
  // batch size. `check_output` finds the others at the batch sizes where they differ.
  constexpr int64_t rows = 3;
  weights none(layers_);
  const auto p = make_plan(*this, none, rows);
  for (const auto& input : graph_.inputs) {
    signature_.inputs.push_back({input.name, input.type, {input.dims.begin() + 1, input.dims.end()}});
  }
  for (size_t i = 0; i < graph_.outputs.size(); ++i) {
    const auto& [type, dims, data, layout] = p->outputs[i];
    if (dims.empty() || dims.front() != rows) {
      throw model_error(
          fmt::format("{}: output '{}' has shape {} for a batch of {}: its leading dimension must be "
                      "the batch",
                      graph_.file, graph_.outputs[i], to_string(dims), rows));
    }
    if (element_count(dims) == 0) {
      throw model_error(
          fmt::format("{}: output '{}' has shape {} for a batch of {}: it would always be empty", graph_.file,
                      graph_.outputs[i], to_string(dims), rows));
    }
    signature_.outputs.push_back({graph_.outputs[i], type, {dims.begin() + 1, dims.end()}});
  }
}

}  // namespace troupe::onnx
