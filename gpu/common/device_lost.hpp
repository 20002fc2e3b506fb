#pragma once
#include <stdexcept>

namespace troupe {

/// A device is of no use to this process any more, whatever is asked of it; another process may have luck.
struct device_lost : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace troupe
