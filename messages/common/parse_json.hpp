// Parser for JSON from untrusted senders.
#pragma once
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

namespace troupe {

/// Discarded if it is not JSON or nested deeper than 32. Copying, writing and reading a document recurse, and
/// a few MB of brackets would overflow the stack.
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
