#include "messages/parse_json.hpp"

#include <utility>

namespace troupe {

nlohmann::json parse_json(std::string_view text) {
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
