// What one layer of a language model hands to the next.
#pragma once
#include <vector>

namespace troupe::llm {

/// [rows, hidden] f32. Can be moved to where the next layers are.
using activation = std::vector<float>;

}  // namespace troupe::llm
