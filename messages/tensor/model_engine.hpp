// The engine that runs a tensor model on CPUs.
#pragma once
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
std::string_view to_string(model_engine e);  ///< as in cluster files: "auto", "native", "openvino"

}  // namespace troupe
