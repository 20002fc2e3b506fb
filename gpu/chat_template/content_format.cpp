#include "gpu/chat_template/content_format.hpp"

#include <nlohmann/json.hpp>

namespace troupe::llm {

nlohmann::ordered_json with_contents(nlohmann::ordered_json messages, content_format format) {
  using json = nlohmann::ordered_json;
  for (auto& m : messages) {
    const auto found = m.find("content");
    if (found == m.end()) continue;
    auto& content = *found;
    if (content.is_array() && format == content_format::text) {
      std::string all;
      for (const auto& part : content) {
        if (&part != &content.front()) all += '\n';
        all += part.at("text").get_ref<const std::string&>();
      }
      content = std::move(all);
    } else if (content.is_string() && format == content_format::parts) {
      content = json::array({{{"type", "text"}, {"text", std::move(content)}}});
    }
  }
  return messages;
}

}  // namespace troupe::llm
