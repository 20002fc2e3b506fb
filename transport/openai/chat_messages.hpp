// The messages of a chat, as chat templates want them.
#pragma once
#include <nlohmann/json.hpp>

#include "transport/openai/body_reader.hpp"

namespace troupe::openai {

/// What chat_request::messages says. Throws openai::error.
nlohmann::ordered_json take_messages(body_reader& in);

}  // namespace troupe::openai
