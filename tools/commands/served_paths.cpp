#include "tools/commands/served_paths.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <stdexcept>

#include "config/problem.hpp"
#include "gpu/checkpoint/encoder_config.hpp"
#include "gpu/common/model_error.hpp"
#include "gpu/device/engine_choice.hpp"

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
  std::vector<fs::path> files, checkpoints, encoders;
  fs::path adapters;  ///< folder with a subfolder for each; empty: none

  void add(const fs::path& path) {
    if (!fs::exists(path)) refuse(fmt::format("{}: does not exist", path.string()));
    if (!fs::is_directory(path)) return files.push_back(path);
    if (is_adapter(path)) return add_adapters(path.parent_path());
    if (is_encoder_folder(path)) return encoders.push_back(path);
    if (fs::exists(path / "config.json")) return checkpoints.push_back(path);
    bool any = false;
    for (const auto& e : entries(path)) {
      if (fs::is_directory(e) && is_adapter(e)) return add_adapters(path);
      if (e.extension() != ".onnx") continue;
      files.push_back(e);
      any = true;
    }
    if (!any)
      refuse(
          fmt::format("{}: has no model: a folder has ONNX files, a checkpoint with its config.json, or LoRA "
                      "adapters with their adapter_config.json",
                      path.string()));
  }

  void add_adapters(const fs::path& folder) {
    if (!adapters.empty() && adapters != folder)
      refuse(fmt::format("{}: adapters lie in {}, too; put them into one folder", folder.string(),
                         adapters.string()));
    adapters = folder;
  }
};

/// The keys of a [[model]] beyond its name and source. A file whose shapes are all static is served request
/// by request.
std::string keys_of(const fs::path& file) {
  model_source source;
  source.path = file.string();
  try {
    choose_engine(source);
    return {};
  } catch (const model_error& batched) {
    source.batched = false;
    try {
      choose_engine(source);
      return "batching = \"none\"\n";
    } catch (const model_error&) {
      refuse(batched.what());
    }
  }
}

class plan_writer {
 public:
  explicit plan_writer(const serving_options& o) : options_(o) {}

  serving_plan write() {
    for (const auto& p : options_.paths) {
      auto whole = fs::absolute(p).lexically_normal();
      if (!whole.has_filename()) whole = whole.parent_path();  // written with a slash at its end
      found_.add(whole);
    }
    if (!found_.adapters.empty() && found_.checkpoints.size() != 1)
      refuse(fmt::format("{}: adapters need one checkpoint beside them, and there are {}",
                         found_.adapters.string(), found_.checkpoints.size()));
    write_head();
    for (const auto& file : found_.files) write_model(file);
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
    if (!found_.files.empty() || !found_.encoders.empty())
      line("\n[[node.device]]\nkind = \"cpu\"\nthreads = {}", options_.threads);
    line("\n[policy]\nbatching = \"eager\"");
  }

  void write_model(const fs::path& file) {
    add(name_of(file, true), served_task::tensors);
    line("\n[[model]]\nname = {}\nsource = {}\nslo_ms = {}\n{}", in_quotes(plan_.models.back().name),
         in_quotes(file.string()), options_.slo_ms, keys_of(file));
  }

  void write_encoder(const fs::path& folder) {
    bool scores = false;
    try {
      scores = read_encoder_config(folder).reranks();
    } catch (const model_error& e) {
      refuse(e.what());
    }
    add(name_of(folder, false), scores ? served_task::scores : served_task::embeddings);
    line("\n[[encoder]]\nname = {}\nmodel = {}\nslo_ms = {}", in_quotes(plan_.models.back().name),
         in_quotes(folder.string()), options_.slo_ms);
  }

  void write_llm(const fs::path& folder) {
    add(name_of(folder, false), served_task::completions);
    line("\n[[llm]]\nname = {}\nmodel = {}\nthreads = {}\nkv_mb = {}", in_quotes(plan_.models.back().name),
         in_quotes(folder.string()), options_.threads, options_.kv_mb);
    if (found_.adapters.empty()) return;
    line("adapters = {}", in_quotes(found_.adapters.string()));
    for (const auto& e : entries(found_.adapters))
      if (is_adapter(e)) add(e.filename().string(), served_task::completions);
  }

  const serving_options& options_;
  found_models found_;
  serving_plan plan_;
};

}  // namespace

serving_plan plan_serving(const serving_options& options) {
  try {
    return plan_writer(options).write();
  } catch (const fs::filesystem_error& e) {
    refuse(fmt::format("{}: {}", e.path1().string(), e.code().message()));
  }
}

}  // namespace troupe
