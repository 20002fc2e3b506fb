// What to say about names of policies that nobody knows.
#pragma once
#include <string>
#include <string_view>

#include "policies/matchmaking/scheduling.hpp"

namespace troupe::lab {

/// "unknown policy 'x'; ..." with the names that there are.
std::string unknown_policy(std::string_view name);

/// What is wrong with the parts of a scheduler that were chosen one by one: one is not known, or they do not
/// go together. Empty: nothing.
std::string unknown_part(const scheduling& s);

}  // namespace troupe::lab
