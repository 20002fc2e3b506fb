// The parameters of a language model as an ordered list of layers, the unit of loading and moving. Layer 0 is
// the embedding, layers 1 to `config.layers` are the transformer's, and the last one is the final norm with
// the head (without a head of its own if the embedding is tied).
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

/// A weight of a checkpoint, in its file's type. The bytes are in the file's mapping.
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

/// The parameters of a layer where they are, such as in a checkpoint's mapping.
struct layer_view {
  struct named {
    std::string_view name;
    weight_view weight;
  };
  std::vector<named> parameters;
  /// Null if the layer has no such parameter.
  const weight_view* find(std::string_view name) const;
};

/// A layer as one contiguous canonical blob: the parameters as in the file, in a fixed order, gaps zero.
struct layer_parameters {
  std::vector<parameter> parameters;
  std::shared_ptr<const aligned_bytes> blob;

  /// Null if the layer has no such parameter (for example, a bias, or the head if tied).
  const parameter* find(std::string_view name) const;
  weight_view view(const parameter& p) const;
  /// All of them; valid as long as this.
  layer_view views() const;
};

/// An open checkpoint's folder, with its weights memory-mapped: model.safetensors, or the shards that
/// model.safetensors.index.json names. Thread-safe once open.
class checkpoint {
 public:
  /// Throws model_error, which names the file and the fix, if a file is damaged, or if a parameter of the
  /// model is absent, does not have the configuration's shape, or has a type other than F32, F16, BF16.
  explicit checkpoint(const std::filesystem::path& folder);
  ~checkpoint();
  checkpoint(checkpoint&&) noexcept;

  const model_config& config() const;
  uint32_t layers() const { return config().layers + 2; }
  /// Copies a layer out of the mapping. In any order, from several threads. Requires: layer < layers().
  layer_parameters read(uint32_t layer) const;
  /// The layer in the mapping; valid as long as the checkpoint. From several threads. Requires: layer <
  /// layers().
  layer_view view(uint32_t layer) const;

 private:
  struct state;
  std::unique_ptr<const state> state_;
};

}  // namespace troupe::llm
