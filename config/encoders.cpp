#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "config/sections.hpp"
#include "config/text_file.hpp"
#include "gpu/checkpoint/encoder_config.hpp"
#include "gpu/common/model_error.hpp"

namespace troupe {
namespace {

constexpr uint32_t shortest_length = 32;  // of those without a key
constexpr double longest_slo_ms = 3.6e6, default_slo_ms = 1000;

/// Powers of two, and what the model takes.
std::vector<uint32_t> usual_lengths(uint32_t most) {
  std::vector<uint32_t> out;
  for (uint32_t n = shortest_length; n < most; n *= 2) out.push_back(n);
  out.push_back(most);
  return out;
}

class encoder_reader {
 public:
  encoder_reader(const cluster_spec& cluster, const std::filesystem::path& directory)
      : cluster_(cluster), directory_(directory) {
    for (const auto& n : cluster.nodes)
      for (const auto& d : n.devices)
        if (d.kind != device_kind::cpu && other_device_.empty()) other_device_ = n.name;
  }

  void read(section& s, encoder_reading& out) {
    auto& e = out.encoders.emplace_back();
    e.name = s.path_name("name");
    const auto most = read_folder(s, e);
    model_spec m;
    m.path = e.path;
    m.engine = model_engine::native;
    m.slo = s.milliseconds("slo_ms", 0.001, longest_slo_ms, default_slo_ms);
    m.max_batch = static_cast<uint32_t>(s.integer("max_batch", 1, 65536, 32));
    m.weight = s.number("weight", "a number", 0, 1e9, 1);
    m.domain = read_domain_of(s, cluster_.domains);
    for (const auto tokens : read_lengths(s, most)) {
      m.name = fmt::format("{}@{}", e.name, tokens);
      m.shapes.clear();
      for (const auto* input : {"input_ids", "attention_mask", "token_type_ids"})
        m.shapes.push_back({input, {tokens}});
      e.lengths.push_back(
          {tokens, model_id{static_cast<uint32_t>(cluster_.models.size() + out.models.size())}});
      out.models.push_back(m);
      out.places.push_back(s.at("model"));
    }
    if (!other_device_.empty())
      s.refuse("model", fmt::format("encoders run on CPUs, and node '{}' has another device; remove it, or "
                                    "this encoder",
                                    other_device_));
  }

 private:
  /// The most tokens of a text; 0: unknown, and refused.
  uint32_t read_folder(section& s, encoder_spec& e) {
    const auto folder = s.text("model", {}, "the folder of an encoder, relative to this file");
    if (folder.empty()) return 0;
    e.path = absolute_path(directory_ / folder);
    auto& record = s.recorded("model");
    record.value = e.path;
    // as of a language model: other weights usually have another config.json, too
    record.meaning = fingerprint_of(std::filesystem::path(e.path) / "config.json").content;
    try {
      return read_encoder_config(e.path).max_tokens;
    } catch (const model_error& problem) {
      s.refuse("model", problem.what());
      return 0;
    }
  }

  std::vector<uint32_t> read_lengths(section& s, uint32_t most) {
    if (!s.has("lengths")) {
      s.unused("lengths");
      return most == 0 ? std::vector<uint32_t>{} : usual_lengths(most);
    }
    std::vector<uint32_t> out;
    const double limit = most == 0 ? 1 << 20 : most;
    for (const auto n : s.numbers("lengths", "numbers of tokens", 1, limit)) {
      if (n != std::floor(n)) s.refuse("lengths", "has a number of tokens that is not whole");
      out.push_back(static_cast<uint32_t>(n));
    }
    std::ranges::sort(out);
    if (std::ranges::adjacent_find(out) != out.end()) s.refuse("lengths", "has a number twice");
    return out;
  }

  const cluster_spec& cluster_;
  const std::filesystem::path& directory_;
  std::string other_device_;  ///< a node that has a device other than CPUs
};

}  // namespace

encoder_reading read_encoders(section& root, const cluster_spec& cluster,
                              const std::filesystem::path& directory, defined_names& names) {
  encoder_reader reader{cluster, directory};
  encoder_reading out;
  for (auto* s : root.tables("encoder")) {
    reader.read(*s, out);
    names.add(*s, "encoder", out.encoders.back().name);
  }
  return out;
}

}  // namespace troupe
