// The hidden states that one layer of a language model passes to the next.
#pragma once
#include <vector>

namespace troupe::llm {

/// [rows, hidden] f32. Can be sent to another engine that has the next layers.
using activation = std::vector<float>;

}  // namespace troupe::llm
