// Images: the layers of a decoder as a device reads them, each in one piece of memory. An image is what a
// process keeps of a layer and what travels between processes; nothing is packed again at its destination.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "gpu/checkpoint/parameters.hpp"
#include "gpu/llm/decoder_layer.hpp"
#include "gpu/llm/layer_content.hpp"

namespace troupe::llm {

/// Devices of different kinds read different images.
enum class image_layout : uint8_t {
  packed,    ///< for the kernels of CPUs; norms and biases are f32
  row_major  ///< for CUDA (gpu/llm/row_major_image.hpp); all numbers have the type of the projections
};

struct image_format {
  element weights = element::f32;  ///< of the projections
  element table = element::f32;    ///< of the embedding: as stored in the checkpoint
  image_layout layout = image_layout::packed;
};
inline constexpr size_t image_alignment = 64;

/// Images of one model and format. Layers are numbered as in the checkpoint. The places of the numbers in an
/// image depend on the configuration and the format alone, so all images of a layer are equal byte for byte.
class layer_images {
 public:
  /// Both outlive this.
  layer_images(const model_config& config, const image_format& format) : config_(config), format_(format) {}

  /// Size of a layer's image in bytes.
  uint64_t bytes(uint32_t layer) const;
  /// The image of a layer of the checkpoint, whose weights outlive the result.
  layer_content content(uint32_t layer, const layer_view& from) const;
  /// Writes it. `to`: `bytes(layer)`. Every byte is written.
  void write(uint32_t layer, const layer_view& from, std::span<std::byte> to) const;

  /// The layer in its packed image, which outlives the result.
  embedding_layer embedding(const std::byte* image) const;
  decoder_layer layer(uint32_t layer, const std::byte* image) const;
  final_layer last(const std::byte* image) const;

 private:
  class parts;
  void describe(parts& p, embedding_layer& l) const;
  void describe(parts& p, decoder_layer& l) const;
  void describe(parts& p, final_layer& l) const;
  void describe_any(parts& p, uint32_t layer) const;

  const model_config& config_;
  const image_format& format_;
};

}  // namespace troupe::llm
