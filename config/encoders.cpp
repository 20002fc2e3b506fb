#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "config/external_data.hpp"
#include "config/fingerprint.hpp"
#include "config/onnx_file.hpp"
#include "config/sections.hpp"
#include "config/text_file.hpp"
#include "gpu/checkpoint/encoder_config.hpp"
#include "gpu/checkpoint/encoder_folder.hpp"
#include "gpu/common/model_error.hpp"

namespace troupe {
namespace {

constexpr uint32_t shortest_length = 32, longest_usual_length = 512, fewest_tokens = 8;
constexpr double max_slo_ms = 3.6e6, default_slo_ms = 1000;

/// Powers of two up to 512, and the maximum of a model that takes fewer tokens.
std::vector<double> usual_lengths(uint32_t max) {
  std::vector<double> out;
  max = std::min(max, longest_usual_length);
  for (uint32_t n = shortest_length; n < max; n *= 2) out.push_back(n);
  out.push_back(max);
  return out;
}

/// Batches of longer texts are smaller, so that they take about as much memory.
uint32_t max_batch_of(uint32_t tokens, uint32_t max_batch) {
  return std::max(1U, std::min(max_batch, max_batch * longest_usual_length / tokens));
}

/// Of the files that decide the lengths and the answers. Safetensors are left out, as of a language model:
/// other weights usually have another config.json, too. An ONNX file is also the network; its external data
/// counts, as that of a model.
std::string fingerprint_of_encoder(const std::filesystem::path& folder) {
  fingerprint print;
  if (const auto onnx = encoder_onnx_file(folder); !onnx.empty()) {
    const auto network = fingerprint_of(onnx, max_onnx_bytes);
    print.add(network.content);
    if (network.error.empty()) print.add(external_fingerprints(onnx));
  }
  for (const auto* file : {"config.json", "tokenizer.json", "tokenizer_config.json", "modules.json",
                           "sentence_bert_config.json", "1_Pooling/config.json"})
    print.add(fingerprint_of(folder / file).content);
  return print.hex();
}

class encoder_reader {
 public:
  encoder_reader(const cluster_spec& cluster, const std::filesystem::path& directory)
      : cluster_(cluster), directory_(directory) {}

  void read(section& s, encoder_reading& out) {
    auto& e = out.encoders.emplace_back();
    e.name = s.path_name("name");
    model_spec m;
    const auto max_tokens = read_folder(s, e, m.engine);
    m.path = e.path;
    m.slo = s.milliseconds("slo_ms", 0.001, max_slo_ms, default_slo_ms);
    const auto max_batch = static_cast<uint32_t>(s.integer("max_batch", 1, 4096, 32));
    m.weight = s.number("weight", "a number", 0, 1e9, 1);
    m.domain = read_domain_of(s, cluster_.domains);
    for (const auto tokens : read_lengths(s, max_tokens)) {
      m.max_batch = max_batch_of(tokens, max_batch);
      m.name = fmt::format("{}@{}", e.name, tokens);
      m.shapes.clear();
      for (const auto* input : {"input_ids", "attention_mask", "token_type_ids"})
        m.shapes.push_back({input, {tokens}});
      e.lengths.push_back(
          {tokens, model_id{static_cast<uint32_t>(cluster_.models.size() + out.models.size())}});
      out.models.push_back(m);
      out.places.push_back(s.at("model"));
    }
    refuse_other_devices(s, m.domain);
  }

 private:
  /// The most tokens of a text; 0: unknown, and refused.
  uint32_t read_folder(section& s, encoder_spec& e, model_engine& engine) {
    const auto folder = s.text("model", {}, "the folder of an encoder, relative to this file");
    if (folder.empty()) return 0;
    e.path = absolute_path(directory_ / folder);
    auto& record = s.recorded("model");
    record.value = e.path;
    record.meaning = fingerprint_of_encoder(e.path);
    try {
      const auto config = read_encoder_config(e.path);
      engine = config.onnx.empty() ? model_engine::native : model_engine::automatic;
      return config.max_tokens;
    } catch (const model_error& problem) {
      s.refuse("model", problem.what());
      return 0;
    }
  }

  /// `max_tokens`: of a text.
  static std::vector<uint32_t> read_lengths(section& s, uint32_t max_tokens) {
    if (max_tokens == 0) {
      s.unused("lengths");
      return {};
    }
    std::vector<uint32_t> out;
    for (const auto n : s.numbers("lengths", "numbers of tokens", std::min(fewest_tokens, max_tokens),
                                  max_tokens, usual_lengths(max_tokens))) {
      if (n != std::floor(n)) s.refuse("lengths", "has a number of tokens that is not whole");
      out.push_back(static_cast<uint32_t>(n));
    }
    std::ranges::sort(out);
    if (std::ranges::adjacent_find(out) != out.end()) s.refuse("lengths", "has a number twice");
    if (out.empty()) s.refuse("lengths", "has no number of tokens; give one, or remove this key");
    return out;
  }

  void refuse_other_devices(section& s, uint32_t domain) const {
    for (const auto& n : cluster_.nodes) {
      const auto other = [](const device_spec& d) { return d.kind != device_kind::cpu; };
      if (n.domain != domain || std::ranges::none_of(n.devices, other)) continue;
      return s.refuse("model",
                      fmt::format("encoders run on CPUs, and node '{}' has another device; put it into "
                                  "another domain, or remove it or this encoder",
                                  n.name));
    }
  }

  const cluster_spec& cluster_;
  const std::filesystem::path& directory_;
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
