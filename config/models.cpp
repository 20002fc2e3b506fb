#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>

#include "config/cluster_file.hpp"
#include "config/external_data.hpp"
#include "config/model_shapes.hpp"
#include "config/onnx_file.hpp"
#include "config/profile_file.hpp"
#include "config/sections.hpp"
#include "config/text_file.hpp"

namespace troupe {

std::string absolute_path(const std::filesystem::path& p) {
  std::error_code failed;
  const auto full = std::filesystem::absolute(p, failed);
  return (failed ? p : full).lexically_normal().string();
}

namespace {

constexpr double hour_ms = 3.6e6;
constexpr double max_constant = std::numeric_limits<double>::max();

/// Requests have all of their dimensions.
void run_in_any_shape(model_spec& m, uint32_t max_batch) {
  m.any_shape = true;
  std::erase_if(m.shapes, [&](const input_shape& s) { return find_input(m.constants, s.name) == nullptr; });
  m.batched = false;
  m.max_batch = max_batch;
}

class model_reader {
 public:
  /// `weights`: the fingerprint of each file, and of the external data beside it, is hashed in place of its
  /// path, for the hash of a cluster.
  model_reader(const cluster_spec& cluster, const std::filesystem::path& directory, reader& problems,
               bool weights, const std::filesystem::path& below = {})
      : policy_(cluster.policy),
        domains_(cluster.domains),
        directory_(directory),
        below_(below),
        problems_(problems),
        weights_(weights) {
    for (const auto& n : cluster.nodes) {
      for (const auto& d : n.devices) {
        if (d.kind == device_kind::cuda && cuda_on_.empty()) cuda_on_ = n.name;
        if (d.kind != device_kind::emulated) {
          real_ = true;
        } else if (emulated_on_.empty()) {
          emulated_on_ = n.name;
        }
      }
    }
  }

  /// One of the shapes is part of the model.
  struct reading {
    model_spec model;
    model_shapes shapes;
  };
  reading read(section& s) {
    reading out{{}, {{{}}, {}}};
    auto& m = out.model;
    m.name = s.name("name");
    std::optional<double> slo_ms;
    std::string slo_origin;
    read_source(s, m);
    read_engine(s, m);
    const bool in_rows = read_inputs(s, m, out.shapes);
    read_preprocess(s, m, emulated_on_);
    if ((out.shapes.several() || m.any_shape) && s.has("preprocess"))
      s.refuse("preprocess", "makes images of one shape; give one shape at most, no pad, and no any_shape");
    read_profile(s, m, slo_ms, slo_origin);
    const auto problems_before = problems_.problem_count();
    m.slo = s.milliseconds("slo_ms", 0.001, hour_ms, slo_ms);
    const bool slo_is_right = problems_.problem_count() == problems_before;
    if (slo_ms && !s.has("slo_ms")) s.recorded("slo_ms").origin = slo_origin;
    if (in_rows)
      m.max_batch = static_cast<uint32_t>(s.integer("max_batch", 1, 65536, m.any_shape ? 1 : 64));
    else
      s.unused("max_batch", "is 1 with batching = \"none\"; remove this key");
    read_shapes(s, m);
    m.weight = s.number("weight", "a number", 0, 1e9, 1);
    m.domain = read_domain_of(s, domains_);
    constexpr double mb = 1 << 20;
    m.memory_bytes = static_cast<uint64_t>(s.number("memory_mb", "MiB", 0, 1e8, 0) * mb);
    m.batch_bytes = static_cast<uint64_t>(s.number("batch_memory_mb", "MiB", 0, 1e8, 0) * mb);
    if (slo_is_right) check_slo(s, m);
    return out;
  }

 private:
  void read_source(section& s, model_spec& m) {
    if (!s.has("source") && !real_) return s.unused("source");
    const auto source = s.text("source", {}, "the path of an ONNX file, relative to this file");
    if (source.empty()) return;
    m.path = absolute_path(directory_ / source);
    if (!may_read(m.path)) return s.refuse("source", outside(m.path));
    text_file content{{}, onnx_file_problem(m.path)};
    if (content.error.empty() && weights_) content = fingerprint_of(m.path, max_onnx_bytes);
    if (!content.error.empty()) s.refuse("source", fmt::format("{} {}", m.path, content.error));
    auto& record = s.recorded("source");
    record.value = m.path;
    record.meaning = content.content;
    if (content.error.empty() && weights_) record.meaning += external_fingerprints(m.path);
  }

  void read_engine(section& s, model_spec& m) {
    if (m.path.empty()) {
      for (const auto* key : {"engine", "precision"}) s.unused(key, "only a model with a source has one");
      return;
    }
    m.engine = static_cast<model_engine>(s.choice("engine", model_engine_names, 0));
    static constexpr std::array<std::string_view, 2> precisions{"f32", "bf16"};
    m.bf16 = s.choice("precision", precisions, 0) == 1;
    if (m.bf16 && m.engine != model_engine::openvino)
      s.refuse("precision", "only OpenVINO computes in bf16; add engine = \"openvino\"");
  }

  /// What the file says of inputs beyond the ONNX file. Whether their first dimensions are rows.
  bool read_inputs(section& s, model_spec& m, model_shapes& shapes) {
    static constexpr std::array<const char*, 5> keys{"batching", "shapes", "pad", "any_shape", "constants"};
    if (m.path.empty()) {
      for (const auto* key : keys) s.unused(key, "only a model with a source has one");
      return true;
    }
    static constexpr std::array<std::string_view, 2> kinds{"rows", "none"};
    if (!cuda_on_.empty()) {
      for (const auto* key : keys)
        s.unused(key, fmt::format("is for CPUs, and node '{}' has a GPU; remove one", cuda_on_));
      return true;
    }
    const bool in_rows = s.choice("batching", kinds, 0) == 0;
    m.batched = in_rows;
    if (!m.batched) m.max_batch = 1;
    shapes = read_model_shapes(s, m.batched);
    m.shapes = shapes.alternatives.front().inputs;
    if (auto* t = s.table("constants"))
      for (const auto& name : t->keys())
        m.constants.push_back({name, t->number(name, "a number", -max_constant, max_constant)});
    read_any_shape(s, m, shapes);
    return in_rows;
  }

  /// The model itself takes any shape, or one beside those of its shapes.
  void read_any_shape(section& s, model_spec& m, model_shapes& shapes) {
    if (!s.flag("any_shape", false)) return;
    if (m.engine == model_engine::native) s.refuse("any_shape", "needs OpenVINO; remove engine = \"native\"");
    if (policy_.matchmaking == "nexus")
      s.refuse("any_shape", "Nexus plans with measured latencies; remove this key, or scheduler = \"nexus\"");
    if (!emulated_on_.empty())
      s.refuse("any_shape",
               fmt::format("is for CPUs, and node '{}' has an emulated device; remove one", emulated_on_));
    const bool alone = !shapes.padding && shapes.alternatives.size() == 1 &&
                       std::ranges::all_of(m.shapes, [&](const input_shape& x) {
                         return find_input(m.constants, x.name) != nullptr;
                       });
    if (alone)
      run_in_any_shape(m, 1);
    else
      shapes.any_shape = true;
  }

  void read_profile(section& s, model_spec& m, std::optional<double>& slo_ms, std::string& slo_origin) {
    static constexpr std::array<std::string_view, 1> measure{"measure"};
    if (!s.has_table("profile")) {
      s.choice("profile", measure, 0, "\"measure\", { alpha_ms, beta_ms } or { file, name }");
      if (!emulated_on_.empty()) {
        s.refuse("profile", fmt::format("an emulated device (node '{}') cannot be measured; give {{ "
                                        "alpha_ms, beta_ms }} or {{ file, name }}",
                                        emulated_on_));
      }
      return;
    }
    auto& p = *s.table("profile");
    if (p.has("file")) {
      read_profile_file(p, m, slo_ms, slo_origin);
      return;
    }
    m.origin = profile_origin::given;
    m.latency.alpha = p.milliseconds("alpha_ms", 0, hour_ms);
    m.latency.beta = p.milliseconds("beta_ms", 0, hour_ms);
    if (m.latency(1) <= duration::zero() && p.has("alpha_ms") && p.has("beta_ms")) {
      p.refuse("alpha_ms", "alpha_ms and beta_ms cannot both be 0");
    }
  }

  void read_profile_file(section& p, model_spec& m, std::optional<double>& slo_ms, std::string& slo_origin) {
    m.origin = profile_origin::file;
    const auto file =
        (directory_ / p.text("file", {}, "the path of a CSV file, relative to this file")).lexically_normal();
    const auto name = p.text("name", m.name);
    if (!may_read(file)) {
      slo_ms = hour_ms;
      return p.refuse("file", outside(file.string()));
    }
    auto [known, fresh] = profiles_.try_emplace(file.string());
    if (fresh) {
      known->second = read_profiles(file);
      if (known->second.profiles.empty() && known->second.problems.size() == 1 &&
          known->second.problems.front().where.line == 0) {
        p.refuse("file", to_string(known->second.problems.front()));
      } else {
        problems_.refuse(known->second.problems);
      }
    }
    std::vector<std::string_view> names;
    for (const auto& row : known->second.profiles) {
      names.push_back(row.name);
      if (row.name != name) continue;
      m.latency = row.latency;
      if (row.slo) slo_ms = to_ms(*row.slo);
      slo_origin = to_string(row.where);
      // Record the values of the file instead of its path, which may differ between nodes.
      p.record_instead({{"alpha_ms", to_ms(row.latency.alpha), slo_origin, {}},
                        {"beta_ms", to_ms(row.latency.beta), slo_origin, {}}});
      return;
    }
    slo_ms = hour_ms;  // avoids a second problem besides the missing profile
    if (known->second.problems.empty()) {
      p.refuse("name", fmt::format("{} has no profile of '{}'{}", file.string(), name, hint(name, names)));
    }
  }

  void read_shapes(section& s, model_spec& m) {
    constexpr int64_t max_bytes = 1 << 30;
    if (m.path.empty()) {
      m.input_bytes = static_cast<uint32_t>(s.integer("input_bytes", 1, max_bytes, 1024));
      m.output_bytes = static_cast<uint32_t>(s.integer("output_bytes", 1, max_bytes, 1024));
      return;
    }
    for (const auto* key : {"input_bytes", "output_bytes"}) {
      s.unused(key, "the ONNX file defines it; remove this key or the source");
    }
  }

  /// Symbolic links are resolved first, so that they cannot lead out either.
  bool may_read(const std::filesystem::path& file) const {
    if (below_.empty()) return true;
    std::error_code failed;
    const auto real = std::filesystem::weakly_canonical(file, failed);
    const auto home = std::filesystem::weakly_canonical(below_, failed);
    return !failed && std::mismatch(home.begin(), home.end(), real.begin(), real.end()).first == home.end();
  }
  std::string outside(const std::string& file) const {
    return fmt::format("{} is not below {}, the directory of [models] in the cluster file", file,
                       below_.string());
  }

  void check_slo(section& s, const model_spec& m) {
    const auto needed = m.latency(1) + policy_.network(1) + policy_.response + policy_.margin;
    if (m.slo >= needed) return;
    s.refuse("slo_ms", fmt::format("{} ms cannot be met: a batch of one takes {} ms, its transfer {} ms, "
                                   "response and margin of [policy] {} ms; give at least {}",
                                   to_ms(m.slo), to_ms(m.latency(1)), to_ms(policy_.network(1)),
                                   to_ms(policy_.response + policy_.margin), to_ms(needed)));
  }

  const policy_spec& policy_;
  const std::vector<domain_spec>& domains_;
  const std::filesystem::path& directory_;
  const std::filesystem::path below_;  ///< empty: any file may be read
  reader& problems_;
  const bool weights_;
  std::string cuda_on_;      ///< a node with a GPU
  bool real_ = false;        ///< a device is not emulated
  std::string emulated_on_;  ///< a node with an emulated device
  std::map<std::string, profile_reading> profiles_;
};

}  // namespace

void defined_names::add(section& s, const char* kind, const std::string& name) {
  if (name.empty()) return;
  const auto [first, fresh] = taken_.emplace(
      name, fmt::format("{} '{}' is already defined in line {}", kind, name, s.at("name").line));
  if (!fresh) s.refuse("name", first->second + "; choose another name");
}

namespace {

/// A model for each shape.
void add_shapes(const model_spec& m, model_shapes shapes, model_list& out) {
  shaped_model_spec whole{m.name, {}, {}, std::move(shapes.padding)};
  const auto whole_shapes = m.shapes;  // of the first alternative, with those of constants
  const auto count = shapes.alternatives.size() + (shapes.any_shape ? 1 : 0);
  const auto add = [&](const std::string& shape) -> model_spec& {
    auto& one = out.models.emplace_back(m);
    one.name = fmt::format("{}@{}", m.name, shape);
    one.weight /= static_cast<double>(count);
    return one;
  };
  for (auto& a : shapes.alternatives) {
    whole.shapes.push_back(model_id{static_cast<uint32_t>(out.models.size())});
    add(a.name).shapes = std::move(a.inputs);
  }
  if (shapes.any_shape) {
    whole.any_shape = model_id{static_cast<uint32_t>(out.models.size())};
    auto& any = add("any");
    any.shapes = whole_shapes;
    run_in_any_shape(any, m.max_batch);
  }
  out.shaped.push_back(std::move(whole));
}

}  // namespace

model_list read_models(section& root, const cluster_spec& cluster, const std::filesystem::path& directory,
                       defined_names& names) {
  const auto sections = root.tables("model");
  if (sections.empty() && !root.has("model") && !root.has("llm") && !root.has("encoder")) {
    root.refuse("model",
                "is missing; describe each model to serve in a [[model]] section, each language model in an "
                "[[llm]] section, or each encoder of texts in an [[encoder]] section");
  }
  model_reader models{cluster, directory, root.owner(), true};
  model_list out;
  for (auto* s : sections) {
    auto read = models.read(*s);
    names.add(*s, "model", read.model.name);
    if (read.shapes.several()) {
      add_shapes(read.model, std::move(read.shapes), out);
      out.places.resize(out.models.size(), s->at("source"));
      continue;
    }
    out.models.push_back(std::move(read.model));
    out.places.push_back(s->at("source"));
  }
  return out;
}

namespace {

/// For a model that is deployed on a running cluster.
void refuse_without_device(section& s, const cluster_spec& cluster, const model_spec& m) {
  if (std::ranges::any_of(cluster.slots, [&](const slot_spec& slot) {
        return cluster.nodes[slot.node.value].domain == m.domain;
      }))
    return;
  const auto domain = domain_name(cluster, m.domain);
  s.refuse(
      fmt::format("no worker{} has a device for it; add a [[node.device]] to a worker in the cluster file",
                  domain.empty() ? "" : fmt::format(" of domain '{}'", domain)));
}

/// A model with one shape, from a file of its own.
model_spec read_one(model_reader models, section& s, const cluster_spec& cluster) {
  auto [m, shapes] = models.read(s);
  if (shapes.several())
    s.refuse(shapes.padding ? "pad" : "shapes",
             "is for models of the cluster file; deploy a model for each shape, with a name of its own");
  const auto taken = [&name = m.name](const auto& of_the_file) { return of_the_file.name == name; };
  if (std::ranges::any_of(cluster.shaped_models, taken) || std::ranges::any_of(cluster.encoders, taken))
    s.refuse("name", fmt::format("'{}' is the name of a model of the cluster file; choose another", m.name));
  refuse_without_device(s, cluster, m);
  return m;
}

}  // namespace

model_spec read_model(section& s, const cluster_spec& cluster, const std::filesystem::path& directory) {
  return read_one(model_reader{cluster, directory, s.owner(), false}, s, cluster);
}

model_reading read_model_text(std::string_view text, const std::string& file, const cluster_spec& cluster,
                              const std::filesystem::path& directory, const std::filesystem::path& below) {
  reader in{text, file};
  model_reading out;
  out.spec = read_one(model_reader{cluster, directory, in, false, below}, in.root(), cluster);
  out.problems = in.finish();
  out.effective = in.effective();
  return out;
}

}  // namespace troupe
