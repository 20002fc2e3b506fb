// The JSON description of a multicast, which `troupe plan multicast` reads (docs/commands.md).
#pragma once
#include <stdexcept>
#include <string_view>

#include "policies/scaling/multicast_problem.hpp"

namespace troupe {

/// Names the place and what belongs there: `gbit_per_s.S.T9: no source or target is named "T9"`.
struct multicast_file_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline constexpr size_t max_multicast_nodes = 1024;

/// Throws multicast_file_error.
multicast_problem read_multicast(std::string_view json);

}  // namespace troupe
