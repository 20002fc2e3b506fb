// `troupe plan multicast`: chains by which weights reach the targets of a scale-out.
#pragma once
#include <string>

namespace troupe {

/// Plans the multicast that a JSON file describes (config/multicast_file.hpp) and prints a table, or one JSON
/// document. Returns 0; 1 if no chain reaches a target; 2 for a bad file.
int plan_multicast_file(const std::string& file, bool json);

}  // namespace troupe
