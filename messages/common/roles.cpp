#include "messages/common/roles.hpp"

#include <algorithm>
#include <array>

namespace troupe {
namespace {

constexpr auto role_names = [] {
  std::array<std::string_view, role_count> names;
#define TROUPE_ROLE_NAME(name, number) names[number] = #name;
  TROUPE_ROLES(TROUPE_ROLE_NAME)
#undef TROUPE_ROLE_NAME
  return names;
}();
static_assert(std::find(role_names.begin(), role_names.end(), "") == role_names.end(),
              "two roles have the same number");

}  // namespace

std::string_view to_string(role r) { return role_names[static_cast<size_t>(r)]; }

bool parse_role(std::string_view name, role& out) {
  const auto* found = std::find(role_names.begin(), role_names.end(), name);
  if (found == role_names.end()) return false;
  out = static_cast<role>(found - role_names.begin());
  return true;
}

}  // namespace troupe
