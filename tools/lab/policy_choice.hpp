// Messages about unknown names of policies.
#pragma once
#include <string>
#include <string_view>

#include "policies/registry/scheduling.hpp"

namespace troupe::lab {

/// "unknown policy 'x'; ..." with the list of known names.
std::string unknown_policy(std::string_view name);

/// The problem of a scheduler whose parts were chosen one by one: an unknown part, or parts that do not fit
/// together. Empty: none.
std::string unknown_part(const scheduling& s);

}  // namespace troupe::lab
