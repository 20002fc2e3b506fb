// Chunks: the parts in which the images of a model (gpu/llm/layer_image.hpp) travel between nodes.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace troupe {

/// A part of a layer's image.
struct image_chunk {
  uint32_t layer = 0;
  uint64_t offset = 0;  ///< in the image
  uint64_t bytes = 0;
};

/// Cuts images into chunks of `max_bytes` at most, in the order of the layers. A layer without bytes has no
/// chunk. Requires: max_bytes > 0.
inline std::vector<image_chunk> chunks_of(std::span<const uint64_t> layer_bytes, uint64_t max_bytes) {
  std::vector<image_chunk> out;
  for (uint32_t l = 0; l < layer_bytes.size(); ++l)
    for (uint64_t at = 0; at < layer_bytes[l]; at += max_bytes)
      out.push_back({l, at, std::min(max_bytes, layer_bytes[l] - at)});
  return out;
}

}  // namespace troupe
