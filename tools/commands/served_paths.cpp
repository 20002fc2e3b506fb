#include "tools/commands/served_paths.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>
#include <stdexcept>

#include "config/problem.hpp"
#include "gpu/checkpoint/encoder_config.hpp"
#include "gpu/checkpoint/encoder_folder.hpp"
#include "gpu/checkpoint/model_config.hpp"
#include "gpu/common/model_error.hpp"
#include "tools/commands/served_file.hpp"
#include "tools/commands/triton_model.hpp"
#include "tools/common/input_flags.hpp"

namespace troupe {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const std::string& why) { throw std::invalid_argument(why); }

bool is_adapter(const fs::path& folder) { return fs::exists(folder / "adapter_config.json"); }

/// In the order of their names.
std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> out;
  for (const auto& e : fs::directory_iterator(folder)) out.push_back(e.path());
  std::ranges::sort(out);
  return out;
}

/// A name as cluster files allow it.
std::string name_of(const fs::path& path, bool file) {
  auto name = (file ? path.stem() : path.filename()).string();
  for (auto& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-' && c != '.') c = '_';
  return name;
}

/// The paths, sorted by what they are.
struct found_models {
  std::vector<fs::path> files, triton, checkpoints, encoders;
  fs::path adapters;  ///< folder with a subfolder for each; empty: none

  void add(const fs::path& path) {
    if (!fs::exists(path)) refuse(fmt::format("{}: does not exist", path.string()));
    if (!fs::is_directory(path)) return files.push_back(path);
    if (is_adapter(path)) return add_adapters(path.parent_path());
    if (is_encoder_folder(path)) return encoders.push_back(path);
    if (fs::exists(path / "config.json")) return checkpoints.push_back(path);
    if (is_triton_model(path)) return triton.push_back(path);
    bool any = false;
    for (const auto& e : entries(path)) {
      const bool folder = fs::is_directory(e);
      if (folder && is_adapter(e)) return add_adapters(path);
      const bool of_triton = folder && is_triton_model(e);
      if (!of_triton && e.extension() != ".onnx") continue;
      (of_triton ? triton : files).push_back(e);
      any = true;
    }
    if (!any)
      refuse(
          fmt::format("{}: has no model: a folder has ONNX files, models in Triton's layout "
                      "(NAME/1/model.onnx), a checkpoint with its config.json, or LoRA adapters with their "
                      "adapter_config.json",
                      path.string()));
  }

  void add_adapters(const fs::path& folder) {
    if (!adapters.empty() && adapters != folder)
      refuse(fmt::format("{}: adapters lie in {}, too; put them into one folder", folder.string(),
                         adapters.string()));
    adapters = folder;
  }
};

class plan_writer {
 public:
  explicit plan_writer(const serving_options& o) : options_(o) {}

  serving_plan write() {
    for (const auto& flag : options_.shapes) {
      auto shape = parse_shape_flag(flag);
      if (find_input(shapes_, shape.name) != nullptr)
        refuse(fmt::format("--shape {}=...: is given twice; give one shape of an input", shape.name));
      shapes_.push_back(std::move(shape));
    }
    for (const auto& p : options_.paths) {
      auto whole = fs::absolute(p).lexically_normal();
      if (!whole.has_filename()) whole = whole.parent_path();  // written with a slash at its end
      found_.add(whole);
    }
    if (!found_.adapters.empty() && found_.checkpoints.size() != 1)
      refuse(fmt::format("{}: adapters need one checkpoint beside them, and there are {}",
                         found_.adapters.string(), found_.checkpoints.size()));
    write_head();
    for (const auto& file : found_.files) write_file(file);
    for (const auto& folder : found_.triton) write_triton(folder);
    check_shapes();
    for (const auto& folder : found_.encoders) write_encoder(folder);
    for (const auto& folder : found_.checkpoints) write_llm(folder);
    return std::move(plan_);
  }

 private:
  void add(std::string name, served_task task) {
    if (std::ranges::count(plan_.models, name, &served_name::name) > 0)
      refuse(fmt::format("two models have the name '{}'; rename the file or the folder of one", name));
    plan_.models.push_back({std::move(name), task});
  }

  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    plan_.cluster_file += fmt::format(format, std::forward<Args>(args)...) + "\n";
  }

  void write_head() {
    line("name = \"serve\"\n");
    line("[[node]]\nname = \"serve\"\nroles = [\"gateway\", \"scheduler\", \"worker\"]");
    line("control_port = {}\nhttp_port = {}",
         options_.port == UINT16_MAX ? options_.port - 1 : options_.port + 1, options_.port);
    if (!found_.files.empty() || !found_.triton.empty() || !found_.encoders.empty())
      line("\n[[node.device]]\nkind = \"cpu\"\nthreads = {}", options_.threads);
    line("\n[policy]\nbatching = \"eager\"");
  }

  void write_file(const fs::path& file) {
    add(name_of(file, true), served_task::tensors);
    served_file m{.name = plan_.models.back().name, .file = file, .slo_ms = options_.slo_ms};
    if (!shapes_.empty()) give_shapes(m, onnx::read_interface(file), shapes_, used_shapes_);
    choose_batching(m);
    if (m.any_shape && onnx::read_interface(file).names_batch) m.max_batch = batch_of_any_shape;
    plan_.cluster_file += '\n' + to_toml(m);
  }

  void write_triton(const fs::path& folder) {
    add(name_of(folder, false), served_task::tensors);
    const auto& name = plan_.models.back().name;
    const auto read = read_triton_model(folder, name, options_.slo_ms, shapes_, used_shapes_);
    plan_.cluster_file += '\n' + to_toml(read.model);
    if (name != folder.filename().string())
      plan_.notes.push_back(fmt::format("{}: has the name '{}'", folder.string(), name));
    plan_.notes.insert(plan_.notes.end(), read.notes.begin(), read.notes.end());
  }

  /// Each is for an input.
  void check_shapes() const {
    for (const auto& s : shapes_)
      if (!used_shapes_.contains(s.name))
        refuse(fmt::format("--shape {}=...: no ONNX model of the paths has an input '{}'", s.name, s.name));
  }

  void write_encoder(const fs::path& folder) {
    const bool scores = read_encoder_config(folder).reranks();
    add(name_of(folder, false), scores ? served_task::scores : served_task::embeddings);
    line("\n[[encoder]]\nname = {}\nmodel = {}\nslo_ms = {}", in_quotes(plan_.models.back().name),
         in_quotes(folder.string()), options_.slo_ms);
  }

  void write_llm(const fs::path& folder) {
    llm::read_model_config(folder);  // throws if a node could not
    add(name_of(folder, false), served_task::completions);
    line("\n[[llm]]\nname = {}\nmodel = {}\nthreads = {}\nkv_mb = {}", in_quotes(plan_.models.back().name),
         in_quotes(folder.string()), options_.threads, options_.kv_mb);
    if (found_.adapters.empty()) return;
    line("adapters = {}", in_quotes(found_.adapters.string()));
    for (const auto& e : entries(found_.adapters))
      if (is_adapter(e)) add(e.filename().string(), served_task::completions);
  }

  const serving_options& options_;
  std::vector<input_shape> shapes_;
  std::set<std::string> used_shapes_;
  found_models found_;
  serving_plan plan_;
};

}  // namespace

serving_plan plan_serving(const serving_options& options) {
  try {
    return plan_writer(options).write();
  } catch (const model_error& e) {
    refuse(e.what());
  } catch (const fs::filesystem_error& e) {
    refuse(fmt::format("{}: {}", e.path1().string(), e.code().message()));
  }
}

}  // namespace troupe
