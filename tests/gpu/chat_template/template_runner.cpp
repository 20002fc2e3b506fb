// Renders the templates of jinja2_test.py: reads a line of JSON {"template", "variables"}, writes a line
// {"text"}, or {"error", "kind"} with the kind `template` or `request`.
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "gpu/chat_template/chat_template.hpp"
#include "gpu/common/model_error.hpp"
#include "gpu/common/request_refused.hpp"

using json = nlohmann::ordered_json;

namespace {

json answer(const json& request) {
  try {
    const troupe::llm::chat_template t(request.at("template").get<std::string>(), "test.jinja");
    return {{"text", t.render(request.at("variables"))}};
  } catch (const troupe::model_error& e) {
    return {{"error", e.what()}, {"kind", "template"}};
  } catch (const troupe::request_refused& e) {
    return {{"error", e.what()}, {"kind", "request"}};
  }
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);)
    std::cout << answer(json::parse(line)).dump() << std::endl;
}
