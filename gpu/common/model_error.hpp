#pragma once
#include <stdexcept>

namespace troupe {

/// A model that cannot be loaded or run. `what()` names the file, the place in it and the fix.
struct model_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A file that is no model in any version of its format.
struct unreadable_model : model_error {
  using model_error::model_error;
};

}  // namespace troupe
