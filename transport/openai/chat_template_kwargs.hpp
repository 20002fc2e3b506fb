// Variables that a request gives to the model's chat template, as vLLM's chat_template_kwargs:
// {"enable_thinking": false}.
#pragma once
#include <nlohmann/json.hpp>

#include "transport/openai/body_reader.hpp"

namespace troupe::openai {

/// Takes the value of chat_request::template_variables: an object of 64 KiB at most, without names that the
/// server or the language of templates defines. Throws openai::error.
nlohmann::ordered_json take_chat_template_kwargs(body_reader& in);

}  // namespace troupe::openai
