// The configuration of a language model: `config.json` and `generation_config.json` of a Hugging Face
// checkpoint, checked and normalised. gpu/checkpoint/families/ has a file for each supported family.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "messages/llm/token.hpp"

namespace troupe::llm {

/// The seven projections of a layer, all of which adapters may change.
enum class projection : uint8_t { q, k, v, o, gate, up, down };
inline constexpr size_t projection_count = 7;
/// The name in checkpoints: "q_proj".
std::string_view name_of(projection p);

/// The activation of a gated feed-forward layer.
enum class gate_activation : uint8_t { silu, gelu_tanh };

/// A rotary position embedding, of the first 2 * frequencies.size() numbers of each head.
struct rotary_embedding {
  std::vector<float> frequencies;  ///< radians per position: theta^(-2i / rotated), scaled
  float scale = 1;                 ///< of cosines and sines
  /// LongRoPE: of models that serve sequences of more than `short_positions`. Empty: `frequencies`.
  std::vector<float> long_frequencies;
  uint32_t short_positions = 0;

  /// For a model that serves sequences of up to `longest` positions.
  const std::vector<float>& of_length(uint64_t longest) const {
    return long_frequencies.empty() || longest <= short_positions ? frequencies : long_frequencies;
  }
};

/// The experts of a layer's mixture of experts.
struct expert_config {
  uint32_t count = 0;  ///< 0: feed-forward layers are dense
  uint32_t per_token = 0;
  bool normalised = true;  ///< the weights of a token's experts add up to 1
  bool named_w = false;    ///< stored as block_sparse_moe with w1 (gate), w2 (down) and w3 (up)
};

struct model_config {
  std::string family;  ///< `model_type`: "llama"
  uint32_t layers = 0;
  uint32_t hidden = 0;                             ///< width of the residual stream
  uint32_t intermediate = 0;                       ///< width of the feed-forward layer, or of an expert
  uint32_t heads = 0, kv_heads = 0, head_dim = 0;  ///< heads % kv_heads == 0, head_dim even
  uint32_t vocabulary = 0;
  uint32_t max_positions = 0;
  float norm_epsilon = 0;
  bool tied_embeddings = false;  ///< the head uses the embedding's weights
  bool qkv_bias = false, o_bias = false, mlp_bias = false;
  rotary_embedding rope;
  /// [layers] Sliding window in positions, including the position itself; 0: none.
  std::vector<uint32_t> window;

  // what the blocks of some families have, and Llama's have not
  rotary_embedding local_rope;     ///< of layers with a window; no frequencies: the same for all layers
  bool head_norms = false;         ///< queries and keys of each head are normalised before the rotation
  bool output_norms = false;       ///< outputs of attention and feed-forward layer are normalised, too
  bool fused_projections = false;  ///< stored as qkv_proj and gate_up_proj
  expert_config experts;
  gate_activation activation = gate_activation::silu;
  float norm_offset = 0;      ///< added to the weights of all norms
  float embedding_scale = 1;  ///< of the embedding's rows
  float query_scale = 0;      ///< of scores; 0: 1 / sqrt(head_dim)
  float score_cap = 0;        ///< scores s become cap * tanh(s / cap) before the softmax; 0: none
  float logit_cap = 0;        ///< the same for logits

  std::optional<token> bos;
  std::vector<token> eos;  ///< end of sequence; `generation_config.json` takes precedence over `config.json`

  /// Rows and columns of a projection's weight, [out, in].
  uint32_t out_of(projection p) const;
  uint32_t in_of(projection p) const;
  uint32_t q_width() const { return heads * head_dim; }
  uint32_t kv_width() const { return kv_heads * head_dim; }
  float attention_scale() const;

  /// The first difference from Llama's blocks that kernels for these lack, as a phrase for messages:
  /// "normalises queries and keys". Empty: none.
  std::string_view unlike_llama() const;
};

/// Reads both files of a checkpoint's folder; generation_config.json may be absent. Absent keys have the
/// defaults of Transformers, except sizes, which are required. Throws model_error
/// (gpu/common/model_error.hpp), which names the file, the key and the fix, for files that are damaged, out
/// of range or not supported: other families, quantized weights, other activations and rotary embeddings.
model_config read_model_config(const std::filesystem::path& folder);

/// The same from texts. `name`: for messages. An empty `generation` stands for an absent file.
model_config parse_model_config(std::string_view config, std::string_view generation,
                                const std::string& name);

}  // namespace troupe::llm
