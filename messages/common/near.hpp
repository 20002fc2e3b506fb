// What someone meant who wrote a name that nobody knows.
#pragma once
#include <span>
#include <string>
#include <string_view>

namespace troupe {

/// The name of `known` that someone who wrote `written` most likely meant; empty if none is near.
std::string_view nearest(std::string_view written, std::span<const std::string_view> known);

/// "; did you mean 'x'?" if one is near, else "; known: x, y" if any is known, else nothing.
std::string hint(std::string_view written, std::span<const std::string_view> known);

}  // namespace troupe
