#pragma once
#include <stdexcept>

namespace troupe {

/// A request that cannot be served as it asks. `what()` names what is wrong and the fix, for its sender.
struct request_refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace troupe
