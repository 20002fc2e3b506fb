// Names of element types in options.
#pragma once
#include <optional>
#include <string_view>

#include "gpu/common/element.hpp"

namespace troupe {

/// f32, bf16 or f16; nothing for other names.
std::optional<element> element_called(std::string_view name);
/// The value of --dtype. Throws request_refused, which names the option, for other names.
element element_of_dtype(std::string_view name);

}  // namespace troupe
