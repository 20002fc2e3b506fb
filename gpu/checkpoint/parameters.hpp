// The parameters of a language model as an ordered list of layers: the unit in which they are loaded, moved
// and made ready. Layer 0 is the embedding, 1 to `config.layers` are the transformer's, the last one is the
// final norm with the head (without a head of its own if the embedding is tied).
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/checkpoint/model_config.hpp"
#include "gpu/common/aligned_bytes.hpp"
#include "gpu/common/element.hpp"

namespace troupe::llm {

/// Of a checkpoint, as its file has it. The bytes are the file's mapping.
struct weight_view {
  element type = element::f32;
  std::vector<uint64_t> shape;
  std::span<const std::byte> bytes;  ///< row-major
};

struct parameter {
  std::string name;  ///< within its layer: "self_attn.q_proj.weight", "embed_tokens.weight", "norm.weight",
                     ///< "lm_head.weight"
  element type = element::f32;
  std::vector<uint64_t> shape;
  size_t offset = 0;  ///< in the layer's blob, a multiple of 64
};

/// One contiguous canonical blob: the parameters as in the file, in a fixed order, gaps zero.
struct layer_parameters {
  std::vector<parameter> parameters;
  std::shared_ptr<const aligned_bytes> blob;
  uint64_t hash = 0;  ///< FNV-1a of the blob (gpu/common/fnv.hpp)

  /// Null if the layer has no such parameter (a bias, a tied head).
  const parameter* find(std::string_view name) const;
  weight_view view(const parameter& p) const;
};

/// A checkpoint's folder with its weights mapped: model.safetensors, or the shards that
/// model.safetensors.index.json names. Thread-safe once open.
class checkpoint {
 public:
  /// Throws model_error, naming the file and the fix, if a file is damaged or a parameter of the model is
  /// absent, has another shape than the configuration asks for, or a type other than F32, F16, BF16.
  explicit checkpoint(const std::filesystem::path& folder);
  ~checkpoint();
  checkpoint(checkpoint&&) noexcept;

  const model_config& config() const;
  uint32_t layers() const { return config().layers + 2; }
  /// Requires: layer < layers(). Copies it out of the mapping; layers can be read in any order, by several
  /// threads.
  layer_parameters read(uint32_t layer) const;

 private:
  struct state;
  std::unique_ptr<const state> state_;
};

}  // namespace troupe::llm
