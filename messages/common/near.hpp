// Suggestions for misspelt names.
#pragma once
#include <span>
#include <string>
#include <string_view>

namespace troupe {

/// The name in `known` that is nearest to `written`; empty if none is near.
std::string_view nearest(std::string_view written, std::span<const std::string_view> known);

/// "; did you mean 'x'?" if one is near, else "; known: x, y" if any is known, else nothing.
std::string hint(std::string_view written, std::span<const std::string_view> known);

}  // namespace troupe
