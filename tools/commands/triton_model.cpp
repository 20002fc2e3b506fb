#include "tools/commands/triton_model.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "config/onnx_file.hpp"
#include "config/text_file.hpp"
#include "config/triton/model_config.hpp"

namespace troupe {
namespace {

namespace fs = std::filesystem;
using triton::config_tensor;

constexpr auto config_name = "config.pbtxt";

/// Zero: the name is none of a version.
int64_t version_of(const fs::path& folder) {
  const auto name = folder.filename().string();
  int64_t out = 0;
  const auto [rest, error] = std::from_chars(name.data(), name.data() + name.size(), out);
  const bool whole = error == std::errc{} && rest == name.data() + name.size();
  return whole && out > 0 && name.front() != '0' ? out : 0;
}

/// Ascending; none of a folder that cannot be read.
std::vector<int64_t> versions_in(const fs::path& folder) {
  std::vector<int64_t> out;
  std::error_code unreadable;
  for (const auto& e : fs::directory_iterator(folder, unreadable))
    if (const auto v = version_of(e.path()); v > 0 && fs::is_directory(e.path())) out.push_back(v);
  std::ranges::sort(out);
  return out;
}

std::string type_text(const std::optional<data_type>& t) {
  return t ? std::string(to_string(*t)) : "a type that requests do not have";
}

class triton_model_reader {
 public:
  triton_model_reader(const fs::path& folder, const std::string& name)
      : folder_(folder), file_((folder / config_name).string()) {
    out_.model.name = name;
  }

  triton_model read(double slo_ms, std::span<const input_shape> shapes, std::set<std::string>& used) {
    read_config();
    auto& m = out_.model;
    m.slo_ms = config_.timeout ? to_ms(*config_.timeout) : slo_ms;
    m.file = choose_file();
    finish();
    const auto declared = onnx::read_interface(m.file);
    // without either, the file decides as if there was no configuration
    if (config_.max_batch)
      m.batched = *config_.max_batch > 0;
    else if (!config_.inputs.empty())
      m.batched = leaves_out_rows(declared);
    if (m.batched.value_or(false)) m.max_batch = config_.max_batch;
    if (!config_.inputs.empty()) check_inputs(declared);
    for (const auto& t : config_.outputs) find_declared("output", t, declared.outputs);
    finish();
    give_shapes(m, declared, shapes, used);
    const bool rows = m.batched.value_or(false);
    free_dimensions(shapes);
    finish();
    check_outputs(choose_batching(m), rows);
    finish();
    return std::move(out_);
  }

 private:
  void refuse(const file_position& at, std::string why) { problems_.push_back({at, std::move(why)}); }

  /// Throws if there are problems.
  void finish() const {
    if (problems_.empty()) return;
    std::vector<std::string> lines;
    for (const auto& p : problems_) lines.push_back(to_string(p));
    throw std::invalid_argument(fmt::format("{}", fmt::join(lines, "\n")));
  }

  void read_config() {
    if (!fs::exists(file_)) return;
    const auto text = read_text_file(file_, pipes::refused);
    if (!text.error.empty()) throw std::invalid_argument(fmt::format("{}: {}", file_, text.error));
    auto reading = triton::read_model_config(text.content, file_, folder_.filename().string());
    problems_ = std::move(reading.problems);
    config_ = std::move(reading.config);
    for (const auto& p : reading.ignored) out_.notes.push_back(to_string(p));
  }

  int64_t choose_version() {
    const auto all = versions_in(folder_);
    const auto& policy = config_.versions;
    auto chosen = policy.specific;
    if (chosen.empty()) {
      const auto count = std::min<size_t>(policy.latest.value_or(UINT32_MAX), all.size());
      chosen.assign(all.end() - static_cast<std::ptrdiff_t>(count), all.end());
    }
    if (chosen.empty()) {
      refuse({folder_.string()}, fmt::format("has no version; put the model into {}",
                                             (folder_ / "1" / config_.model_file).string()));
      return 0;
    }
    if (chosen.size() > 1)
      refuse(policy.where, fmt::format("version_policy: {} versions are not supported: a model is served in "
                                       "one; give latest {{ num_versions: 1 }} or one specific version",
                                       chosen.size()));
    if (std::ranges::count(all, chosen.back()) == 0)
      refuse(policy.where,
             fmt::format("version_policy: {} has no version {}", folder_.string(), chosen.back()));
    return chosen.back();
  }

  fs::path choose_file() {
    const auto version = choose_version();
    auto file = folder_ / std::to_string(version) / config_.model_file;
    if (problems_.empty())
      if (auto why = onnx_file_problem(file); !why.empty()) refuse({file.string()}, std::move(why));
    return file;
  }

  const onnx::declared_tensor* find_declared(const std::string& kind, const config_tensor& t,
                                             const std::vector<onnx::declared_tensor>& declared) {
    const auto found = std::ranges::find(declared, t.name, &onnx::declared_tensor::name);
    if (found == declared.end()) {
      std::vector<std::string> names;
      for (const auto& d : declared) names.push_back(d.name);
      refuse(t.where, fmt::format("{}: '{}' is no {} of {}, which has {}", kind, t.name, kind,
                                  out_.model.file.string(), fmt::join(names, ", ")));
      return nullptr;
    }
    if (t.type && t.type != found->type)
      refuse(t.where, fmt::format("{}: '{}' is {} here and {} in {}", kind, t.name, type_text(t.type),
                                  type_text(found->type), out_.model.file.string()));
    return &*found;
  }

  /// The dims of an input lack the first dimension of the graph.
  bool leaves_out_rows(const onnx::model_interface& declared) const {
    return std::ranges::any_of(config_.inputs, [&](const config_tensor& t) {
      const auto d = std::ranges::find(declared.inputs, t.name, &onnx::declared_tensor::name);
      return d != declared.inputs.end() && d->dims && !d->dims->empty() && d->dims->front() < 0 &&
             d->dims->size() == t.dims.size() + 1 && !t.dims.empty();
    });
  }

  void check_inputs(const onnx::model_interface& declared) {
    for (const auto& t : config_.inputs)
      if (const auto* d = find_declared("input", t, declared.inputs)) fix_dims(t, *d);
    for (const auto& d : declared.inputs)
      if (std::ranges::count(config_.inputs, d.name, &config_tensor::name) == 0)
        refuse({file_}, fmt::format("input: '{}' of {} is missing", d.name, out_.model.file.string()));
  }

  /// Gives the input the shape of the configuration where the graph leaves it open.
  void fix_dims(const config_tensor& t, const onnx::declared_tensor& d) {
    auto& m = out_.model;
    if (t.dims.empty()) return;
    auto whole = t.dims;
    if (*m.batched) whole.insert(whole.begin(), triton::free_dimension);
    const auto graph = d.dims.value_or(std::vector<int64_t>(whole.size(), triton::free_dimension));
    const bool fits = whole.size() == graph.size() &&
                      std::equal(whole.begin(), whole.end(), graph.begin(),
                                 [](auto given, auto own) { return given < 0 || own < 0 || given == own; });
    const bool rows = !*m.batched || (!graph.empty() && graph.front() < 0);
    if (!fits || !rows)
      return refuse(
          t.where,
          fmt::format("input: '{}' has the shape {} here{} and {} in {}{}", t.name, shape_text(whole),
                      *m.batched ? ", with the dimension for batches," : "", shape_text(graph),
                      m.file.string(), rows ? "" : "; with max_batch_size: 0 dims are the whole shape"));
    bool open = !d.dims;
    for (size_t i = *m.batched ? 1 : 0; i < whole.size(); ++i) {
      if (graph[i] < 0) open = true;
      if (whole[i] < 0) whole[i] = graph[i];
    }
    if (*m.batched) whole.erase(whole.begin());
    if (open) m.shapes.push_back({t.name, std::move(whole)});
  }

  /// A model with free dimensions, besides those of batches, takes any shape.
  void free_dimensions(std::span<const input_shape> flags) {
    auto& m = out_.model;
    const auto open = std::ranges::find_if(m.shapes, [](const input_shape& s) {
      return std::ranges::count(s.dims, triton::free_dimension) > 0;
    });
    if (open == m.shapes.end()) return;
    const auto t = std::ranges::find(config_.inputs, open->name, &config_tensor::name);
    for (const auto& flag : flags)
      if (std::ranges::count(config_.inputs, flag.name, &config_tensor::name) > 0)
        return refuse(t->where,
                      fmt::format("input: '{}' has the free dimensions {}, and --shape gives only '{}' "
                                  "its shape; give both, or none",
                                  open->name, shape_text(open->dims), flag.name));
    out_.notes.push_back(to_string(
        problem{t->where,
                fmt::format("input: '{}' has the free dimensions {}: {}; dims without -1, or --shape {}=..., "
                            "make batches of one shape",
                            open->name, shape_text(open->dims),
                            m.max_batch ? "requests of equal shapes run together"
                                        : "each request runs alone, in its own shape",
                            open->name)}));
    m.any_shape = true;
    m.shapes.clear();
  }

  /// `rows`: the configuration leaves out the dimension for batches.
  void check_outputs(const model_signature& signature, bool rows) {
    for (const auto& t : config_.outputs) {
      const auto own = std::ranges::find(signature.outputs, t.name, &tensor_spec::name);
      if (own == signature.outputs.end() || t.dims.empty()) continue;
      auto dims = own->shape;
      if (rows && !signature.batched && !dims.empty()) dims.erase(dims.begin());
      const bool fits = t.dims.size() == dims.size() &&
                        std::equal(t.dims.begin(), t.dims.end(), dims.begin(),
                                   [](auto given, auto d) { return given < 0 || d < 0 || given == d; });
      if (!fits)
        refuse(t.where, fmt::format("output: '{}' has the shape {} here and {} in {}", t.name,
                                    shape_text(t.dims), shape_text(dims), out_.model.file.string()));
    }
    if (config_.outputs.empty()) return;
    for (const auto& own : signature.outputs)
      if (std::ranges::count(config_.outputs, own.name, &config_tensor::name) == 0)
        out_.notes.push_back(
            fmt::format("{}: output '{}' is missing, and is answered, too", file_, own.name));
  }

  const fs::path& folder_;
  const std::string file_;
  triton::model_config config_;
  std::vector<problem> problems_;
  triton_model out_;
};

}  // namespace

bool is_triton_model(const fs::path& folder) {
  std::error_code unreadable;
  if (fs::exists(folder / config_name, unreadable)) return true;
  return std::ranges::any_of(
      versions_in(folder), [&](int64_t v) { return fs::exists(folder / std::to_string(v) / "model.onnx"); });
}

triton_model read_triton_model(const fs::path& folder, const std::string& name, double slo_ms,
                               std::span<const input_shape> shapes, std::set<std::string>& used) {
  return triton_model_reader(folder, name).read(slo_ms, shapes, used);
}

}  // namespace troupe
