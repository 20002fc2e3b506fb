// Messages of a chat, in the form that chat templates expect.
#pragma once
#include <nlohmann/json.hpp>

#include "transport/openai/body_reader.hpp"

namespace troupe::openai {

/// Takes the value of chat_request::messages. Throws openai::error.
nlohmann::ordered_json take_messages(body_reader& in);

}  // namespace troupe::openai
