// The configuration of a language model: `config.json` and `generation_config.json` of a Hugging Face
// checkpoint, checked and normalised. For the families of Llama 2 and 3, Mistral and Qwen2.
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

struct model_config {
  std::string family;  ///< "llama", "mistral" or "qwen2"
  uint32_t layers = 0;
  uint32_t hidden = 0;                             ///< width of the residual stream
  uint32_t intermediate = 0;                       ///< width of the feed-forward layer
  uint32_t heads = 0, kv_heads = 0, head_dim = 0;  ///< heads % kv_heads == 0, head_dim even
  uint32_t vocabulary = 0;
  uint32_t max_positions = 0;
  float norm_epsilon = 0;
  bool tied_embeddings = false;  ///< the head uses the embedding's weights
  bool qkv_bias = false, o_bias = false, mlp_bias = false;
  /// [head_dim / 2] radians per position: theta^(-2i/head_dim), scaled by `rope_scaling` or
  /// `rope_parameters`.
  std::vector<float> rope_frequencies;
  /// [layers] Sliding window in positions, including the position itself; 0: none.
  std::vector<uint32_t> window;

  std::optional<token> bos;
  std::vector<token> eos;  ///< end of sequence; `generation_config.json` takes precedence over `config.json`

  /// Rows and columns of a projection's weight, [out, in].
  uint32_t out_of(projection p) const;
  uint32_t in_of(projection p) const;
  uint32_t q_width() const { return heads * head_dim; }
  uint32_t kv_width() const { return kv_heads * head_dim; }
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
