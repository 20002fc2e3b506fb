// The engine that runs a tensor model on CPUs.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace troupe {

enum class model_engine : uint16_t {
  automatic,  ///< native if it runs the file, else openvino
  native,     ///< gpu/onnx
  openvino    ///< gpu/openvino
};
inline constexpr size_t model_engine_count = 3;
/// As in cluster files.
inline constexpr std::array<std::string_view, model_engine_count> model_engine_names{"auto", "native",
                                                                                     "openvino"};
constexpr std::string_view to_string(model_engine e) { return model_engine_names[static_cast<size_t>(e)]; }

}  // namespace troupe
