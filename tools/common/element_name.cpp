#include "tools/common/element_name.hpp"

namespace troupe {

std::optional<element> element_called(std::string_view name) {
  if (name == "f32") return element::f32;
  if (name == "bf16") return element::bf16;
  if (name == "f16") return element::f16;
  return {};
}

}  // namespace troupe
