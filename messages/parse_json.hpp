// JSON that strangers wrote.
#pragma once
#include <nlohmann/json.hpp>
#include <string_view>

namespace troupe {

/// Discarded if it is no JSON, or nested deeper than 32. What copies, writes or reads a document goes down
/// into it by recursion, and so many brackets as a few MB hold would end the process.
nlohmann::json parse_json(std::string_view text);

}  // namespace troupe
