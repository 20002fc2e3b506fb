// The tokens that the post-processor of a tokenizer.json puts around the text of a language model.
#pragma once
#include <functional>
#include <vector>

#include "gpu/tokenizer/json_place.hpp"
#include "messages/llm/token.hpp"

namespace troupe::llm {

struct surrounding_tokens {
  std::vector<token> prefix, suffix;
};

/// Reads ByteLevel, which adds nothing, and TemplateProcessing. `is_token`: whether the vocabulary has an id.
/// Throws model_error for others.
surrounding_tokens read_surrounding_tokens(const json_place& post_processor,
                                           const std::function<bool(token)>& is_token);

}  // namespace troupe::llm
