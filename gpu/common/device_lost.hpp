#pragma once
#include <stdexcept>

namespace troupe {

/// This process cannot use the device any more; a new process may be able to.
struct device_lost : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace troupe
