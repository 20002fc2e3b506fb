#include "gpu/checkpoint/model_config.hpp"

#include <fmt/format.h>

#include <array>

#include "gpu/checkpoint/json_object.hpp"
#include "gpu/checkpoint/mapped_file.hpp"
#include "gpu/checkpoint/rope_frequencies.hpp"
#include "gpu/checkpoint/shown_name.hpp"
#include "gpu/common/model_error.hpp"

namespace troupe::llm {

namespace {

// Far beyond every existing model. Larger values are damage, and would be allocated.
constexpr uint64_t max_layers = 1024, max_heads = 1024, max_head_dim = 1024, max_eos_ids = 1024;
constexpr uint64_t widest = 1 << 20, max_vocabulary = 1 << 24, max_context_length = 1 << 30;

/// Defaults of absent keys, as in Transformers.
struct family_defaults {
  std::string_view name;
  uint32_t kv_heads;  ///< 0: as many as heads
  std::optional<token> bos, eos;
};
constexpr uint32_t default_window = 4096;     // of mistral and, if it uses one, qwen2
constexpr uint32_t default_full_layers = 28;  // of qwen2
constexpr std::array<family_defaults, 3> families{
    {{"llama", 0, 1, 2}, {"mistral", 8, 1, 2}, {"qwen2", 32, std::nullopt, std::nullopt}}};

const family_defaults& read_family(const json_object& config) {
  const auto name = config.text("model_type");
  for (const auto& f : families) {
    if (f.name == name) return f;
  }
  config.fail("model_type", fmt::format("is {}: llama, mistral and qwen2 are supported", shown_name(name)));
}

uint32_t read_size(const json_object& config, const char* key, uint64_t max) {
  return static_cast<uint32_t>(config.integer(key, 1, max));
}

void read_shape(const json_object& config, const family_defaults& family, model_config& m) {
  m.layers = read_size(config, "num_hidden_layers", max_layers);
  m.hidden = read_size(config, "hidden_size", widest);
  m.intermediate = read_size(config, "intermediate_size", widest);
  m.vocabulary = read_size(config, "vocab_size", max_vocabulary);
  m.max_positions = read_size(config, "max_position_embeddings", max_context_length);
  m.heads = read_size(config, "num_attention_heads", max_heads);
  const auto kv_otherwise =
      config.mentions("num_key_value_heads") || family.kv_heads == 0 ? m.heads : family.kv_heads;
  m.kv_heads = static_cast<uint32_t>(config.integer("num_key_value_heads", 1, max_heads, kv_otherwise));
  if (m.heads % m.kv_heads != 0) {
    config.fail(
        "num_attention_heads",
        fmt::format("is {}: it must be a multiple of the {} key and value heads", m.heads, m.kv_heads));
  }
  if (config.lacks("head_dim") && m.hidden % m.heads != 0) {
    config.fail("hidden_size", fmt::format("is {}: without 'head_dim' it must be a multiple of the {} heads",
                                           m.hidden, m.heads));
  }
  m.head_dim = static_cast<uint32_t>(config.integer("head_dim", 2, max_head_dim, m.hidden / m.heads));
  if (m.head_dim % 2 != 0 || m.head_dim == 0 || m.head_dim > max_head_dim) {
    config.fail("head_dim", fmt::format("is {}: it must be even and from 2 to {}", m.head_dim, max_head_dim));
  }
}

void refuse_unsupported(const json_object& config) {
  const auto activation = config.text("hidden_act", "silu");
  if (activation != "silu") {
    config.fail("hidden_act", fmt::format("is {}: only silu is supported", shown_name(activation)));
  }
  if (!config.lacks("quantization_config")) {
    config.fail("quantization_config",
                "is set: quantized checkpoints are not supported, use one of F32, F16 or BF16");
  }
}

/// The layers with a sliding window, by `layer_types` or else by `max_window_layers`.
std::vector<bool> read_sliding_layers(const json_object& config, uint32_t layers, bool slides) {
  std::vector<bool> sliding(layers);
  const uint64_t full = config.integer("max_window_layers", 0, uint64_t{1} << 31, default_full_layers);
  for (size_t i = full; slides && i < layers; ++i) sliding[i] = true;
  if (config.lacks("layer_types")) return sliding;

  const auto& types = config.at("layer_types");
  if (!types.is_array() || types.size() != layers) {
    config.fail("layer_types", fmt::format("must be a list with an entry for each of the {} layers", layers));
  }
  for (size_t i = 0; i < layers; ++i) {
    if (types[i] != "full_attention" && types[i] != "sliding_attention") {
      config.refuse(fmt::format("layer_types.{}", i), types[i],
                    "\"full_attention\" or \"sliding_attention\"");
    }
    sliding[i] = types[i] == "sliding_attention";
    if (sliding[i] && !slides) {
      config.fail("layer_types",
                  "has sliding layers, but 'use_sliding_window' and 'sliding_window' give no window");
    }
  }
  return sliding;
}

void read_window(const json_object& config, model_config& m) {
  m.window.assign(m.layers, 0);
  if (m.family == "llama") return;
  const bool null = config.mentions("sliding_window") && config.lacks("sliding_window");
  const auto width = static_cast<uint32_t>(
      config.integer("sliding_window", 1, uint64_t{1} << 31, null ? 0 : default_window));
  if (m.family == "mistral") {
    m.window.assign(m.layers, width);
    return;
  }
  const bool slides = width > 0 && config.flag("use_sliding_window", false);
  const auto sliding = read_sliding_layers(config, m.layers, slides);
  for (size_t i = 0; i < m.layers; ++i) m.window[i] = sliding[i] ? width : 0;
}

token read_token(const json_object& config, const char* key, const ordered_json& value, uint32_t vocabulary) {
  if (!value.is_number_unsigned() || value.get<uint64_t>() >= vocabulary) {
    config.refuse(key, value, fmt::format("a token from 0 to {}", vocabulary - 1));
  }
  return static_cast<token>(value.get<uint64_t>());
}

/// Replaces the tokens of `m` by those of the file. `null_counts`: a null replaces them, too.
void read_tokens(const json_object& config, bool null_counts, model_config& m) {
  if (!config.lacks("bos_token_id")) {
    m.bos = read_token(config, "bos_token_id", config.at("bos_token_id"), m.vocabulary);
  } else if (null_counts && config.mentions("bos_token_id")) {
    m.bos.reset();
  }
  if (!config.lacks("eos_token_id")) {
    const auto& value = config.at("eos_token_id");
    m.eos.clear();
    if (!value.is_array()) {
      m.eos.push_back(read_token(config, "eos_token_id", value, m.vocabulary));
    } else {
      if (value.size() > max_eos_ids)
        config.fail("eos_token_id", fmt::format("has more than {} tokens", max_eos_ids));
      for (const auto& v : value) m.eos.push_back(read_token(config, "eos_token_id", v, m.vocabulary));
    }
  } else if (null_counts && config.mentions("eos_token_id")) {
    m.eos.clear();
  }
}

}  // namespace

std::string_view name_of(projection p) {
  static constexpr std::array<std::string_view, projection_count> names{
      "q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"};
  return names[static_cast<size_t>(p)];
}

uint32_t model_config::out_of(projection p) const {
  switch (p) {
    case projection::q: return q_width();
    case projection::k:
    case projection::v: return kv_width();
    case projection::gate:
    case projection::up: return intermediate;
    case projection::o:
    case projection::down: break;
  }
  return hidden;
}

uint32_t model_config::in_of(projection p) const {
  if (p == projection::o) return q_width();
  return p == projection::down ? intermediate : hidden;
}

model_config parse_model_config(std::string_view config_text, std::string_view generation_text,
                                const std::string& name) {
  const auto config_name = name + "/config.json", generation_name = name + "/generation_config.json";
  const auto document = parse_object(config_text, config_name);
  const json_object config(document, config_name);
  const auto& family = read_family(config);
  refuse_unsupported(config);

  model_config m;
  m.family = family.name;
  read_shape(config, family, m);
  m.norm_epsilon = static_cast<float>(config.number("rms_norm_eps", 1e-12, 1, 1e-6));
  m.tied_embeddings = config.flag("tie_word_embeddings", false);
  const bool llama = m.family == "llama";
  m.o_bias = llama && config.flag("attention_bias", false);
  m.qkv_bias = m.o_bias || m.family == "qwen2";
  m.mlp_bias = llama && config.flag("mlp_bias", false);
  m.rope_frequencies = read_rope_frequencies(config, m.head_dim, m.max_positions);
  read_window(config, m);

  if (family.bos && !config.mentions("bos_token_id") && static_cast<uint32_t>(*family.bos) < m.vocabulary) {
    m.bos = family.bos;
  }
  if (family.eos && !config.mentions("eos_token_id") && static_cast<uint32_t>(*family.eos) < m.vocabulary) {
    m.eos = {*family.eos};
  }
  read_tokens(config, true, m);
  if (!generation_text.empty()) {
    const auto generation = parse_object(generation_text, generation_name);
    read_tokens(json_object(generation, generation_name), false, m);
  }
  return m;
}

model_config read_model_config(const std::filesystem::path& folder) {
  constexpr size_t max_bytes = 4 << 20;
  const auto generation = folder / "generation_config.json";
  return parse_model_config(read_text(folder / "config.json", max_bytes),
                            std::filesystem::exists(generation) ? read_text(generation, max_bytes) : "",
                            folder.string());
}

}  // namespace troupe::llm
