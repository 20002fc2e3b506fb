// Log-probabilities of tokens in OpenAI's two forms.
#pragma once
#include <span>
#include <string>

#include "transport/openai/completion_response.hpp"

namespace troupe::openai {

/// {"tokens": [...], "token_logprobs": [...], "top_logprobs": [{text: logprob}], "text_offset": [...]}. The
/// chosen token is always among the top ones. Of tokens with the same text the most likely one counts.
void append_completion_logprobs(std::string& out, std::span<const token_report> tokens);

/// {"content": [{"token", "logprob", "bytes", "top_logprobs": [{"token", "logprob", "bytes"}]}]}
void append_chat_logprobs(std::string& out, std::span<const token_report> tokens);

}  // namespace troupe::openai
