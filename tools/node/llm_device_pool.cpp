#include "tools/node/llm_device_pool.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <utility>

#include "actors/kinds/kv_arena.hpp"
#include "gpu/checkpoint/model_config.hpp"
#include "gpu/common/mapped_file.hpp"
#include "gpu/common/model_error.hpp"
#include "gpu/kernels/paged_kv.hpp"
#include "gpu/llm/cpu_engine_device.hpp"
#include "gpu/llm/emulated_engine_device.hpp"
#include "gpu/llm/image_library.hpp"
#include "gpu/llm/staged_engine_device.hpp"
#include "tools/node/read_tokenizer_bundle.hpp"
#ifdef TROUPE_CUDA
#include "gpu/llm/cuda/cuda_engine_device.hpp"
#endif

namespace troupe {
namespace {

llm::cpu_engine_options cpu(const llm_spec& m, std::shared_ptr<llm::image_library> library) {
  llm::cpu_engine_options o;
  o.library = std::move(library);
  o.folder = m.path;
  o.weights = o.kv = element_of(m.type);
  o.kv_bytes = m.kv_bytes;
  o.block_tokens = m.block_tokens;
  o.threads = static_cast<int>(m.threads);
  o.adapter_slots = m.adapter_slots;
  o.adapter_bytes = m.adapter_bytes;
  return o;
}

/// Name, and path, of a made-up adapter.
std::string emulated_adapter(uint32_t i) { return fmt::format("adapter-{:04}", i); }

bool is_emulated_adapter(const llm_spec& m, std::string_view path) {
  constexpr std::string_view begin = "adapter-";
  if (!path.starts_with(begin)) return false;
  uint32_t i = 0;
  std::from_chars(path.data() + begin.size(), path.data() + path.size(), i);
  return i < m.emulated_adapters && path == emulated_adapter(i);
}

/// As of a device that reads adapters. An emulated one needs no weights.
std::string adapter_problem(const std::filesystem::path& folder) {
  constexpr size_t max_bytes = 4 << 20;
  try {
    read_text(folder / "adapter_config.json", max_bytes);
    return {};
  } catch (const model_error& e) {
    return e.what();
  }
}

std::unique_ptr<llm::engine_device> emulated(const llm_spec& m, const clock& time,
                                             const llm::image_allocator& kv_memory) {
  llm::emulated_engine_options o;
  o.kv_memory = kv_memory;
  try {
    const auto config = llm::read_model_config(m.path);
    o.vocabulary = config.vocabulary;
    o.max_positions = m.max_positions > 0 ? m.max_positions : config.max_positions;
    o.layers = config.layers + 2;
    o.end_of_text = config.eos;
  } catch (const model_error& e) {
    o.problem = e.what();
  }
  o.profile = m.profile;
  o.kv_bytes = m.kv_bytes;
  o.block_tokens = m.block_tokens;
  o.adapter_slots = m.adapter_slots;
  o.jitter = m.jitter;
  o.adapter_problem = [&m](const std::string& path) {
    return is_emulated_adapter(m, path) ? "" : adapter_problem(path);
  };
  return std::make_unique<llm::emulated_engine_device>(time, std::move(o));
}

#ifdef TROUPE_CUDA
llm::cuda_engine_options cuda(const llm_spec& m, uint32_t gpu) {
  llm::cuda_engine_options o;
  o.folder = m.path;
  o.weights = element_of(m.type);
  o.kv_bytes = m.kv_bytes;
  o.block_tokens = m.block_tokens;
  o.gpu = gpu, o.gpus = m.tensor_parallel, o.graphs = m.graphs;
  o.adapter_slots = m.adapter_slots;
  o.adapter_bytes = m.adapter_bytes;
  return o;
}
#endif

/// `gpu`: the first GPU of the engine.
std::unique_ptr<llm::engine_device> make_device(
    const llm_spec& m, const clock& time, std::function<void()> ready,
    const std::shared_ptr<llm::image_library>& library,
    const std::function<std::shared_ptr<llm::image_set>()>& images, const llm::image_allocator& kv_memory,
    [[maybe_unused]] uint32_t gpu) {
  switch (m.device) {
    case device_kind::emulated: return emulated(m, time, kv_memory);
    case device_kind::cpu: {
      auto o = cpu(m, library);
      o.kv_memory = kv_memory;
      o.images = images;
      return std::make_unique<llm::cpu_engine_device>(time, std::move(ready), std::move(o));
    }
    case device_kind::cuda: break;
  }
#ifdef TROUPE_CUDA
  auto o = cuda(m, gpu);
  o.images = images;
  return std::make_unique<llm::cuda_engine_device>(time, std::move(ready), std::move(o));
#else
  throw model_error("a build without CUDA has no GPU for the model " + m.name);  // the file is rejected
#endif
}

/// Of a model that no engine has loaded yet.
llm::engine_facts expected_facts(const llm_spec& m) {
  const auto config = llm::read_model_config(m.path);
  llm::engine_facts f;
  f.vocabulary = config.vocabulary;
  f.max_positions = m.max_positions > 0 ? m.max_positions : config.max_positions;
  f.block_tokens = m.block_tokens;
  const kernels::paged_kv kv{nullptr,         element_of(m.type), config.layers,
                             config.kv_heads, m.block_tokens,     config.head_dim};
  const auto block =
      m.device == device_kind::emulated ? m.profile.kv_token_bytes * m.block_tokens : kv.page_bytes();
  f.blocks = static_cast<uint32_t>(std::min<uint64_t>(m.kv_bytes / std::max<uint64_t>(1, block), UINT32_MAX));
  f.layers = config.layers + 2;
  return f;
}

}  // namespace

void llm_device_pool::prepare_process([[maybe_unused]] const cluster_spec& cluster,
                                      [[maybe_unused]] node_id self) {
#ifdef TROUPE_CUDA
  const auto is_shared = [&](const engine_spec& e) {
    const auto& m = cluster.llms[e.model.value];
    return e.node == self && m.device == device_kind::cuda && m.tensor_parallel > 1;
  };
  if (std::ranges::any_of(cluster.engines, is_shared)) llm::prepare_for_tensor_parallelism();
#endif
}

llm_device_pool::llm_device_pool(const cluster_spec& cluster, node_id self, const clock& time,
                                 node_images& images, registered_memory kv_arena,
                                 std::function<void(engine_id)> ready) {
  uint32_t gpu = 0;
  const auto library = std::make_shared<llm::image_library>();  // of all engines that do not scale
  for (uint32_t i = 0; i < cluster.engines.size(); ++i) {
    const auto& e = cluster.engines[i];
    if (e.node != self) continue;
    const auto& m = cluster.llms[e.model.value];
    std::function<std::shared_ptr<llm::image_set>()> kept;
    if (images.keeps(e.model))
      kept = [&images, &m, model = e.model] {
        if (auto known = images.find(weights_of(model))) return known;
        throw model_error("the images of '" + m.name + "' were dropped before its engine took them");
      };
    const auto kv_memory = kv_allocator(cluster, engine_id{i}, kv_arena);
    const auto make = [&m, &time, ready, i, gpu, library, kept, kv_memory] {
      return make_device(
          m, time, [ready, i] { ready(engine_id{i}); }, library, kept, kv_memory, gpu);
    };
    if (m.scales)
      devices_[engine_id{i}] = std::make_unique<llm::staged_engine_device>(make, expected_facts(m));
    else
      devices_[engine_id{i}] = make();
    if (m.device == device_kind::cuda) gpu += m.tensor_parallel;
  }
}

std::vector<adapter_entry> adapters_of(const llm_spec& model) {
  const auto& folder = model.adapter_directory;
  std::vector<adapter_entry> out;
  for (uint32_t i = 0; i < model.emulated_adapters; ++i) {
    auto name = emulated_adapter(i);
    out.push_back({name, name});
  }
  std::error_code failed;
  if (folder.empty()) return out;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
    if (!std::filesystem::exists(entry.path() / "adapter_config.json", failed)) continue;
    auto name = entry.path().filename().string();
    if (name.find(',') == name.npos)
      out.push_back({std::move(name), entry.path().string()});
    else
      spdlog::warn(
          "event=adapter_left_out folder=\"{}\" reason=\"its name has a comma, which separates adapters in "
          "metrics: rename it\"",
          entry.path().string());
  }
  std::ranges::sort(out, {}, &adapter_entry::name);
  return out;
}

std::vector<std::shared_ptr<const tokenizer_bundle>> read_tokenizer_bundles(const cluster_spec& cluster) {
  std::vector<std::shared_ptr<const tokenizer_bundle>> out;
  for (const auto& m : cluster.llms) {
    out.push_back(read_tokenizer_bundle(m.path));
    if (const auto& why = out.back()->chat_problem; !why.empty())
      spdlog::warn(
          "event=chat_template_refused model={} reason=\"{}\" effect=\"its chat requests are refused\"",
          m.name, why);
  }
  return out;
}

}  // namespace troupe
