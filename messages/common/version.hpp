#pragma once
#include <string_view>

namespace troupe {

/// Version of the program and the wire format. Nodes of different versions refuse each other.
inline constexpr std::string_view version = "0.1.0";

}  // namespace troupe
