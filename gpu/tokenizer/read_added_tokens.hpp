#pragma once
#include <vector>

#include "gpu/tokenizer/added_tokens.hpp"
#include "gpu/tokenizer/json_place.hpp"

namespace troupe::llm {

/// The `added_tokens` of a tokenizer.json, in their order; none if it has no such list. Throws model_error
/// for contents without a sensible length, and for contents and ids that occur twice.
std::vector<added_token> read_added_tokens(const json_place& root);

}  // namespace troupe::llm
