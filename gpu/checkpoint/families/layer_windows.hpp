// Sliding windows by layer, as the families' configurations give them.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "gpu/checkpoint/json_object.hpp"

namespace troupe::llm {

/// `sliding_window` in positions; 0 if it is null, `otherwise` if it is absent.
uint32_t read_window_width(const json_object& config, uint32_t otherwise);

/// [layers] Windows by `layer_types` or, without it, of the layers in `sliding`. `width` 0: no window; then
/// layer_types must name no sliding layer, as `keys` ("'sliding_window' gives") give none.
std::vector<uint32_t> read_layer_windows(const json_object& config, uint32_t width,
                                         const std::vector<bool>& sliding, std::string_view keys);

/// The windows of Qwen: layers from `max_window_layers` on slide, if `use_sliding_window` says so.
std::vector<uint32_t> read_qwen_windows(const json_object& config, uint32_t layers);

}  // namespace troupe::llm
