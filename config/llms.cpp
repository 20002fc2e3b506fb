#include <fmt/format.h>

#include <array>
#include <bit>

#include "config/sections.hpp"
#include "config/step_profile_file.hpp"
#include "config/text_file.hpp"
#include "policies/llm/prefill_timing.hpp"
#include "policies/llm/routing_policy.hpp"

namespace troupe {

namespace {

constexpr std::array<std::string_view, 3> device_names{"cpu", "emulated", "cuda"};  // as `device_kind`
constexpr std::array<std::string_view, 3> type_names{"f32", "bf16", "f16"};         // as `llm_type`

bool is_folder(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

uint64_t mebibytes(section& s, std::string_view key, double min, double fallback) {
  constexpr double max = 1e8, mib = 1 << 20;
  return static_cast<uint64_t>(s.number(key, "MiB", min, max, fallback) * mib);
}

class llm_reader {
 public:
  llm_reader(const cluster_spec& cluster, const std::filesystem::path& directory)
      : nodes_(cluster.nodes), directory_(directory) {
    for (uint32_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].roles.empty()) unclear_ = true;
      if (!nodes_[i].has(node_role::worker)) continue;
      workers_.push_back(node_id{i});
      worker_names_.push_back(nodes_[i].name);
    }
  }

  /// Adds the model and its engines.
  void read(section& s, llm_reading& out) {
    const llm_id id{static_cast<uint32_t>(out.llms.size())};
    auto& m = out.llms.emplace_back();
    m.name = s.path_name("name");
    read_checkpoint(s, m);
    const auto first = out.engines.size();
    const auto places = read_engines(s, id, out.engines);
    read_instances(s, m, places);
    read_routing(s, m);
    read_device(s, m);
    read_phases(s, m, std::span(out.engines).subspan(first), places.has_value());
    read_arithmetic(s, m);
    m.kv_bytes = mebibytes(s, "kv_mb", 1, 256);
    m.block_tokens = static_cast<uint32_t>(s.integer("block_tokens", 1, 256, m.block_tokens));
    if (!std::has_single_bit(m.block_tokens))
      s.refuse("block_tokens", fmt::format("must be a power of two, not {}; give {} or {}", m.block_tokens,
                                           std::bit_floor(m.block_tokens), std::bit_ceil(m.block_tokens)));
    m.max_sequences = static_cast<uint32_t>(s.integer("max_sequences", 1, 65536, m.max_sequences));
    m.max_waiting = static_cast<uint32_t>(s.integer("max_waiting", 1, 1 << 24, m.max_waiting));
    m.prefill_chunk = static_cast<uint32_t>(s.integer("prefill_chunk", 1, 1 << 20, m.prefill_chunk));
    const auto& timings = llm::prefill_timings().names();
    m.prefill = timings[s.choice("prefill", timings, 0)];
    m.mix_adapters = s.flag("mix_adapters", m.mix_adapters);
    m.prefix_cache = s.flag("prefix_cache", m.prefix_cache);
    m.max_choices =
        static_cast<uint32_t>(s.integer("max_choices", 1, 65536, std::min(m.max_choices, m.max_waiting)));
    if (m.max_choices > m.max_waiting)
      s.refuse(
          "max_choices",
          fmt::format("{} sequences of one request do not fit into the queue; give at most max_waiting = {}",
                      m.max_choices, m.max_waiting));
    m.timeout = s.seconds("timeout_s", 0.001, 7 * 86'400, 600);
    read_adapters(s, m);
  }

  bool placed() const { return placed_; }

 private:
  void read_checkpoint(section& s, llm_spec& m) {
    const auto folder = s.text("model", {}, "the folder of a Hugging Face checkpoint, relative to this file");
    if (folder.empty()) return;
    m.path = absolute_path(directory_ / folder);
    if (!is_folder(m.path))
      return s.refuse(
          "model",
          fmt::format(
              "{} is not a folder; give the folder of a Hugging Face checkpoint, with its config.json",
              m.path));
    // Hashing weights would take minutes; a checkpoint with other weights usually has another config.json,
    // too.
    const auto config = std::filesystem::path(m.path) / "config.json";
    const auto content = fingerprint_of(config);
    if (!content.error.empty())
      s.refuse("model", fmt::format("{} {}; a Hugging Face checkpoint needs this file", config.string(),
                                    content.error));
    auto& record = s.recorded("model");
    record.value = m.path;
    record.meaning = content.content;
  }

  void read_device(section& s, llm_spec& m) {
    m.device = static_cast<device_kind>(s.choice("device", device_names, 0));
    refuse_missing_cuda(s, "device", m.device);
    if (m.device != device_kind::emulated) {
      constexpr auto* why = "is for device = \"emulated\"; add that, or remove this key";
      for (const auto* key : {"profile", "jitter", "max_positions", "emulated_adapters"})
        s.unused(key, s.has(key) ? why : "");
      return;
    }
    const auto file = s.text(
        "profile", {},
        "the path of a step profile, such as examples/profiles/punica-7b-a100.toml, relative to this file");
    m.jitter = s.number("jitter", "a fraction", 0, 10, 0);
    m.max_positions = static_cast<uint32_t>(s.integer("max_positions", 0, 1 << 24, 0));
    m.emulated_adapters = static_cast<uint32_t>(s.integer("emulated_adapters", 0, 100'000, 0));
    if (file.empty()) return;
    const auto path = absolute_path(directory_ / file);
    auto read = read_step_profile(path);
    m.profile = read.profile;
    s.owner().refuse(std::move(read.problems));
    auto& record = s.recorded("profile");
    record.value = path;
    record.meaning = fingerprint_of(path).content;
  }

  void read_arithmetic(section& s, llm_spec& m) {
    const bool cuda = m.device == device_kind::cuda;
    const auto usual = cuda ? llm_type::bf16 : llm_type::f32;
    m.type = static_cast<llm_type>(s.choice("dtype", type_names, static_cast<size_t>(usual)));
    if (cuda && m.type == llm_type::f32)
      s.refuse("dtype", "a GPU computes in 16 bits; give \"bf16\" or \"f16\", or remove this key");
    if (cuda) {
      m.tensor_parallel = static_cast<uint32_t>(s.integer("tensor_parallel", 1, 16, m.tensor_parallel));
      m.graphs = s.flag("graphs", m.graphs);
    } else {
      for (const char* key : {"tensor_parallel", "graphs"})
        s.unused(key, s.has(key) ? "is for device = \"cuda\"; add that, or remove this key" : "");
    }
    if (cuda)
      s.unused("threads", s.has("threads") ? "is for device = \"cpu\"; remove this key" : "");
    else
      m.threads = static_cast<uint32_t>(s.integer("threads", 1, 1024, m.threads));
  }

  /// Returns their number, if it is known.
  std::optional<uint32_t> read_engines(section& s, llm_id model, std::vector<engine_spec>& out) {
    const auto problems = [&] { return s.owner().problem_count(); };
    const auto before = problems();
    const auto per_node = s.integer("engines_per_node", 1, 1024, 1);
    const auto counted = problems();
    const auto nodes = nodes_of(s);
    if (problems() > counted) placed_ = false;
    for (const auto node : nodes)
      for (int64_t i = 0; i < per_node; ++i) out.push_back({model, node});
    if (nodes.empty() || problems() > before) return {};
    return static_cast<uint32_t>(nodes.size() * static_cast<size_t>(per_node));
  }

  std::vector<node_id> nodes_of(section& s) {
    const bool several = s.has("nodes");
    if (several && s.has("node")) s.refuse("node", "\"nodes\" is given too; remove one of the two");
    const auto given = s.peek("node");
    for (const auto& n : nodes_) {
      if (several || given.empty() || n.name != given || n.has(node_role::worker)) continue;
      placed_ = false;
      s.unused("node",
               n.roles.empty()
                   ? ""  // its roles were already refused
                   : fmt::format("node '{}' is not a worker; add \"worker\" to its roles, or name a worker",
                                 given));
      return {};
    }
    if (workers_.empty() || (unclear_ && !several && !s.has("node"))) {
      placed_ = false;
      s.unused("node");  // the nodes were already refused
      s.unused("nodes");
      return {};
    }
    std::vector<node_id> out;
    if (several) {
      s.unused("node");
      for (const auto i : s.choices("nodes", worker_names_, true)) out.push_back(workers_[i]);
    } else {
      const auto chosen = workers_.size() == 1 && !s.has("node") ? s.choice("node", worker_names_, 0)
                                                                 : s.choice("node", worker_names_);
      if (chosen) out.push_back(workers_[*chosen]);
    }
    placed_ = placed_ && !out.empty();
    return out;
  }

  void read_routing(section& s, llm_spec& m) {
    const auto& known = routing_policies().names();
    m.routing = known[s.choice("routing", known, 0)];
    m.consolidate_every = s.seconds("consolidate_s", 0, 86'400, 0);
  }

  void read_adapters(section& s, llm_spec& m) {
    const auto folder = s.text(
        "adapters", "", "the path of a folder with one folder for each adapter, relative to this file");
    if (!folder.empty()) {
      m.adapter_directory = absolute_path(directory_ / folder);
      if (!is_folder(m.adapter_directory))
        s.refuse("adapters", fmt::format("{} is not a folder; give one that holds a folder for each adapter",
                                         m.adapter_directory));
      auto& record = s.recorded("adapters");
      record.value = m.adapter_directory;
      // Adapters change at run time, and the path may differ on another host, but not the folder's name.
      const std::filesystem::path path{m.adapter_directory};
      record.meaning = "in " + (path.has_filename() ? path : path.parent_path()).filename().string();
    }
    m.adapter_slots = static_cast<uint32_t>(s.integer("adapter_slots", 0, 65536, m.adapter_slots));
    m.adapter_bytes = mebibytes(s, "adapter_mb", 0, 1024);
    m.adapter_api = s.flag("adapter_api", m.adapter_api);
    if (m.adapter_slots > 0) return;
    constexpr auto* fix =
        "adapters need slots on the device; give adapter_slots = 1 or more, or remove this key";
    if (!m.adapter_directory.empty()) s.refuse("adapters", fix);
    if (m.adapter_api) s.refuse("adapter_api", fix);
  }

  const std::vector<node_spec>& nodes_;
  const std::filesystem::path& directory_;
  std::vector<node_id> workers_;
  std::vector<std::string_view> worker_names_;
  bool unclear_ = false;  ///< it is unknown whether some node is a worker
  bool placed_ = true;
};

}  // namespace

llm_reading read_llms(section& root, const cluster_spec& cluster, const std::filesystem::path& directory,
                      defined_names& names) {
  llm_reader reader{cluster, directory};
  llm_reading out;
  for (auto* s : root.tables("llm")) {
    reader.read(*s, out);
    out.places.push_back(s->at("model"));
    names.add(*s, "language model", out.llms.back().name);
  }
  out.placed = reader.placed();
  return out;
}

}  // namespace troupe
