#include "gpu/checkpoint/families/layer_windows.hpp"

#include <fmt/format.h>

namespace troupe::llm {

uint32_t read_window_width(const json_object& config, uint32_t otherwise) {
  const bool null = config.mentions("sliding_window") && config.lacks("sliding_window");
  return static_cast<uint32_t>(config.integer("sliding_window", 1, uint64_t{1} << 31, null ? 0 : otherwise));
}

std::vector<uint32_t> read_layer_windows(const json_object& config, uint32_t width,
                                         const std::vector<bool>& sliding, std::string_view keys) {
  const size_t layers = sliding.size();
  std::vector<uint32_t> windows(layers);
  if (config.lacks("layer_types")) {
    for (size_t i = 0; i < layers; ++i) windows[i] = sliding[i] ? width : 0;
    return windows;
  }
  const auto& types = config.at("layer_types");
  if (!types.is_array() || types.size() != layers) {
    config.fail("layer_types", fmt::format("must be a list with an entry for each of the {} layers", layers));
  }
  for (size_t i = 0; i < layers; ++i) {
    if (types[i] != "full_attention" && types[i] != "sliding_attention") {
      config.refuse(fmt::format("layer_types.{}", i), types[i],
                    "\"full_attention\" or \"sliding_attention\"");
    }
    if (types[i] == "full_attention") continue;
    if (width == 0) config.fail("layer_types", fmt::format("has sliding layers, but {} no window", keys));
    windows[i] = width;
  }
  return windows;
}

std::vector<uint32_t> read_qwen_windows(const json_object& config, uint32_t layers) {
  constexpr uint32_t default_width = 4096, default_full_layers = 28;
  const uint32_t width = read_window_width(config, default_width);
  const bool slides = width > 0 && config.flag("use_sliding_window", false);
  std::vector<bool> sliding(layers);
  for (size_t i = config.integer("max_window_layers", 0, uint64_t{1} << 31, default_full_layers); i < layers;
       ++i)
    sliding[i] = true;
  return read_layer_windows(config, slides ? width : 0, sliding,
                            "'use_sliding_window' and 'sliding_window' give");
}

}  // namespace troupe::llm
