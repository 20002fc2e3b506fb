#include "gpu/checkpoint/adapter.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>
#include <system_error>

#include "gpu/checkpoint/adapter_config.hpp"
#include "gpu/checkpoint/parameter_layout.hpp"
#include "gpu/checkpoint/safetensors.hpp"
#include "gpu/checkpoint/shown_name.hpp"
#include "gpu/checkpoint/tensor_files.hpp"
#include "gpu/common/model_error.hpp"

namespace troupe::llm {

namespace {

constexpr const char* config_file = "adapter_config.json";
constexpr const char* weights_file = "adapter_model.safetensors";

size_t padded(size_t bytes) { return (bytes + 63) / 64 * 64; }

class reader {
 public:
  reader(const adapter_config& config, const safetensors& weights, const model_config& model)
      : config_(config), weights_(weights), model_(model), modules_(modules_of(model)) {}

  adapter read() {
    adapter out;
    for (uint32_t layer = 0; layer < model_.layers; ++layer) {
      for (const auto& module : modules_) add_parts(layer, module, out);
    }
    refuse_others();
    if (out.parts.empty()) fail("holds no LoRA weights");
    copy(out);
    return out;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw model_error(fmt::format("{}: {}", weights_.name(), what));
  }

  /// The projections of a module share A; each has its rows of B.
  void add_parts(uint32_t layer, const projection_module& from, adapter& out) {
    const auto module = fmt::format("model.layers.{}.{}", layer, from.name);
    const auto a_name = fmt::format("base_model.model.{}.lora_A.weight", module);
    const auto b_name = fmt::format("base_model.model.{}.lora_B.weight", module);
    const auto *a = weights_.find(a_name), *b = weights_.find(b_name);
    if (a == nullptr && b == nullptr) return;
    if (a == nullptr || b == nullptr) {
      fail(fmt::format("has '{}' without '{}' (damaged)", b == nullptr ? a_name : b_name,
                       b == nullptr ? b_name : a_name));
    }
    const auto [rank, scale] = config_.of(module);
    if (a->shape.size() == 2 && a->shape[0] != rank) {
      fail(fmt::format("'{}' has the rank {}, but {} gives {} ('r' or 'rank_pattern')", a_name, a->shape[0],
                       config_file, rank));
    }
    uint64_t rows = 0;
    for (const auto p : from.projections) rows += model_.out_of(p);
    const auto all_a = weight_of(*a, a_name, {rank, model_.in_of(from.projections.front())}, weights_.name());
    const auto all_b = weight_of(*b, b_name, {rows, rank}, weights_.name());
    const size_t row_bytes = all_b.bytes.size() / rows;
    size_t first = 0;
    for (const auto p : from.projections) {
      const size_t own = model_.out_of(p);
      out.parts.push_back(
          {layer,
           p,
           rank,
           scale,
           all_a,
           {all_b.type, {own, rank}, all_b.bytes.subspan(first * row_bytes, own * row_bytes)}});
      first += own;
    }
    out.max_rank = std::max(out.max_rank, rank);
    known_.insert(a_name);
    known_.insert(b_name);
  }

  /// Rejects tensors that are not LoRA parts: ignoring them would change the result.
  void refuse_others() const {
    for (const auto& [name, tensor] : weights_.tensors()) {
      if (known_.contains(name)) continue;
      fail(
          fmt::format("{} is not supported: adapters may change {} of the model's {} layers, named "
                      "base_model.model.model.layers.0.{}.lora_A.weight",
                      shown_name(name), shown_modules(), model_.layers, modules_.front().name));
    }
  }

  std::string shown_modules() const {
    if (modules_.size() == projection_count) return "the seven projections (q_proj to down_proj)";
    std::string names;
    for (const auto& m : modules_) {
      if (!names.empty()) names += m.name == modules_.back().name ? " and " : ", ";
      names += m.name.substr(m.name.find('.') + 1);
    }
    return names;
  }

  static void copy(adapter& out) {
    size_t bytes = 0;
    for (const auto& p : out.parts) bytes += padded(p.a.bytes.size()) + padded(p.b.bytes.size());
    const auto blob = std::make_shared<aligned_bytes>(bytes);
    std::byte* end = blob->data();
    const auto move_in = [&](weight_view& w) {
      const size_t size = w.bytes.size();
      std::memcpy(end, w.bytes.data(), size);
      std::memset(end + size, 0, padded(size) - size);
      w.bytes = {end, size};
      end += padded(size);
    };
    for (auto& p : out.parts) {
      move_in(p.a);
      move_in(p.b);
    }
    out.blob = blob;
  }

  const adapter_config& config_;
  const safetensors& weights_;
  const model_config& model_;
  const std::vector<projection_module> modules_;
  std::set<std::string, std::less<>> known_;
};

adapter_version::file state_of(const std::filesystem::path& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0)
    throw model_error(fmt::format("{}: {}", path.string(), std::generic_category().message(errno)));
  return {status.st_ino, static_cast<uint64_t>(status.st_size), status.st_mtim.tv_sec,
          status.st_mtim.tv_nsec};
}

}  // namespace

uint64_t adapter::bytes() const {
  constexpr uint64_t shapes = 4 * sizeof(uint64_t);
  return (blob ? blob->size() : 0) + parts.size() * (sizeof(adapter_part) + shapes);
}

adapter_version version_of_adapter(const std::filesystem::path& folder) {
  return {state_of(folder / config_file), state_of(folder / weights_file)};
}

adapter parse_adapter(std::string_view config, std::span<const std::byte> weights, const model_config& model,
                      const std::string& name) {
  const adapter_config parsed(config, fmt::format("{}/{}", name, config_file));
  return reader(parsed, safetensors(weights, fmt::format("{}/{}", name, weights_file)), model).read();
}

adapter read_adapter(const std::filesystem::path& folder, const model_config& model) {
  constexpr size_t max_bytes = 4 << 20;
  const auto config = read_text(folder / config_file, max_bytes);
  const mapped_file weights(folder / weights_file);
  return parse_adapter(config, weights.bytes(), model, folder.string());
}

}  // namespace troupe::llm
