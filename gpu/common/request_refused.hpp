#pragma once
#include <stdexcept>

namespace troupe {

/// A request that cannot be served. `what()` names the problem and the fix, for its sender.
struct request_refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace troupe
