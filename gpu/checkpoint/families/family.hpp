// A family of language models: the models that share a `model_type` in config.json. Each has one file in this
// folder, which gives the defaults of its keys and reads what its blocks have that Llama's have not: norms,
// biases, activations, windows, rotary embeddings, and the tensors that hold its projections.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "gpu/checkpoint/json_object.hpp"
#include "gpu/checkpoint/model_config.hpp"

namespace troupe::llm {

struct model_family {
  std::string_view name;  ///< `model_type`
  // defaults of absent keys, as in Transformers
  uint32_t kv_heads = 0;  ///< 0: as many as heads
  uint32_t head_dim = 0;  ///< 0: hidden_size / num_attention_heads
  double norm_epsilon = 1e-6;
  bool tied_embeddings = false;
  std::optional<token> bos = 1, eos = 2;
  /// Reads the keys of the family. `m` has its sizes; blocks are Llama's, without biases, windows and rotary
  /// embedding. Throws model_error for what is not supported.
  void (*read)(const json_object& config, model_config& m) = nullptr;
};

extern const model_family llama_family, mistral_family, qwen2_family, qwen3_family, gemma2_family,
    gemma3_family, phi3_family, mixtral_family, qwen3_moe_family;

/// The family that `model_type` names. Throws model_error with the names of all families for others.
const model_family& family_of(const json_object& config);

/// Whether there is a family of this name.
bool is_family(std::string_view model_type);

}  // namespace troupe::llm
