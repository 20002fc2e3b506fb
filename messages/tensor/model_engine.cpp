#include "messages/tensor/model_engine.hpp"

#include <array>

namespace troupe {

std::string_view to_string(model_engine e) {
  constexpr std::array<std::string_view, model_engine_count> names{"auto", "native", "openvino"};
  return names[static_cast<size_t>(e)];
}

}  // namespace troupe
