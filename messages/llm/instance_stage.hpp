// The stage of an instance: of an engine in its place (a node that may serve the model).
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace troupe {

enum class instance_stage : uint16_t {
  idle,      ///< its device has no weights
  loading,   ///< its weights arrive
  serving,   ///< it takes requests
  draining,  ///< its requests move to other engines, or end
  parked     ///< without requests; it keeps its weights, so that it can serve again at once
};
inline constexpr size_t instance_stage_count = 5;
std::string_view to_string(instance_stage s);

}  // namespace troupe
