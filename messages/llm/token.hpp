#pragma once
#include <cstdint>

namespace troupe::llm {

/// An index into a model's vocabulary.
using token = int32_t;

}  // namespace troupe::llm
