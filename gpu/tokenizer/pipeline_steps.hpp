// The steps of a normalizer, pre-tokenizer, post-processor or decoder of tokenizer.json.
#pragma once
#include <string_view>
#include <vector>

#include "gpu/tokenizer/json_place.hpp"

namespace troupe::llm {

/// The members of a Sequence and of those inside of it, or the value itself. `list`: the key of the members.
/// Throws model_error if there are too many.
std::vector<json_place> pipeline_steps(const json_place& place, const char* list);

/// Throws model_error: the step's type is not one of `supported`.
[[noreturn]] void refuse_step(const json_place& step, std::string_view supported);

}  // namespace troupe::llm
