#pragma once
#include "gpu/common/model_error.hpp"

namespace troupe::llm {

/// A chat template that cannot be used, although its file can be read: it is not valid, or uses unsupported
/// Jinja. The rest of the model works without it.
struct template_error : model_error {
  using model_error::model_error;
};

}  // namespace troupe::llm
