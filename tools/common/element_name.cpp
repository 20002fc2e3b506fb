#include "tools/common/element_name.hpp"

#include <string>

#include "gpu/common/request_refused.hpp"

namespace troupe {

std::optional<element> element_called(std::string_view name) {
  if (name == "f32") return element::f32;
  if (name == "bf16") return element::bf16;
  if (name == "f16") return element::f16;
  return {};
}

element element_of_dtype(std::string_view name) {
  if (const auto type = element_called(name)) return *type;
  throw request_refused("--dtype " + std::string(name) + ": must be f32, bf16 or f16");
}

}  // namespace troupe
