#include "gpu/checkpoint/model_config.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "gpu/checkpoint/families/family.hpp"
#include "gpu/checkpoint/json_object.hpp"
#include "gpu/common/is_missing.hpp"
#include "gpu/common/mapped_file.hpp"
#include "gpu/common/model_error.hpp"

namespace troupe::llm {

namespace {

// Far beyond every existing model. Larger values are damage, and would be allocated.
constexpr uint64_t max_layers = 1024, max_heads = 1024, max_head_dim = 256, max_eos_ids = 1024;
constexpr uint64_t widest = 1 << 20, max_vocabulary = 1 << 24, max_context_length = 1 << 30;

uint32_t read_size(const json_object& config, const char* key, uint64_t max) {
  return static_cast<uint32_t>(config.integer(key, 1, max));
}

void read_shape(const json_object& config, const model_family& family, model_config& m) {
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
  const bool own = !config.mentions("head_dim") && family.head_dim > 0;
  const uint32_t head_otherwise = own ? family.head_dim : m.hidden / m.heads;
  if (config.lacks("head_dim") && !own && m.hidden % m.heads != 0) {
    config.fail("hidden_size", fmt::format("is {}: without 'head_dim' it must be a multiple of the {} heads",
                                           m.hidden, m.heads));
  }
  m.head_dim = static_cast<uint32_t>(config.integer("head_dim", 2, max_head_dim, head_otherwise));
  if (m.head_dim % 2 != 0 || m.head_dim == 0 || m.head_dim > max_head_dim) {
    config.fail("head_dim", fmt::format("is {}: it must be even and from 2 to {}", m.head_dim, max_head_dim));
  }
}

void refuse_quantized(const json_object& config) {
  if (config.lacks("quantization_config")) return;
  config.fail("quantization_config",
              "is set: quantized checkpoints are not supported, use one of F32, F16 or BF16");
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

float model_config::attention_scale() const {
  return query_scale > 0 ? query_scale : 1 / std::sqrt(static_cast<float>(head_dim));
}

std::string_view model_config::unlike_llama() const {
  if (experts.count > 0) return "has experts";
  if (head_norms) return "normalises queries and keys";
  if (output_norms) return "normalises the outputs of its layers";
  if (activation != gate_activation::silu) return "has another activation than silu";
  if (score_cap > 0 || logit_cap > 0) return "caps scores or logits";
  if (norm_offset != 0 || embedding_scale != 1 || query_scale > 0) return "scales norms, embedding or scores";
  if (!local_rope.frequencies.empty()) return "has rotary embeddings that differ by layer";
  if (!rope.long_frequencies.empty() || rope.scale != 1) return "scales its rotary embedding by LongRoPE";
  if (rope.frequencies.size() * 2 != head_dim) return "rotates a part of each head";
  return {};
}

model_config parse_model_config(std::string_view config_text, std::string_view generation_text,
                                const std::string& name) {
  const auto config_name = name + "/config.json", generation_name = name + "/generation_config.json";
  const auto document = parse_object(config_text, config_name);
  const json_object config(document, config_name);
  const auto& family = family_of(config);
  refuse_quantized(config);

  model_config m;
  m.family = family.name;
  read_shape(config, family, m);
  m.norm_epsilon = static_cast<float>(config.number("rms_norm_eps", 1e-12, 1, family.norm_epsilon));
  m.tied_embeddings = config.flag("tie_word_embeddings", family.tied_embeddings);
  m.window.assign(m.layers, 0);
  family.read(config, m);

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
  const bool none = is_missing(generation);
  const auto text = none ? "" : read_text(generation, max_bytes);
  if (!none && text.empty()) throw model_error(generation.string() + ": is empty: is the file complete?");
  return parse_model_config(read_text(folder / "config.json", max_bytes), text, folder.string());
}

}  // namespace troupe::llm
