// JSON that strangers wrote.
#pragma once
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

namespace troupe {

/// Discarded if it is no JSON, or nested deeper than 32. What copies, writes or reads a document goes down
/// into it by recursion, and so many brackets as a few MB hold would end the process.
inline nlohmann::json parse_json(std::string_view text) {
  constexpr int deepest = 32;
  bool shallow = true;
  auto document = nlohmann::json::parse(
      text,
      [&](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
        shallow = shallow && depth <= deepest;
        return shallow;
      },
      false);
  return shallow ? std::move(document) : nlohmann::json(nlohmann::json::value_t::discarded);
}

}  // namespace troupe
