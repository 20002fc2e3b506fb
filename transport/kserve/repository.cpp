#include "transport/kserve/repository.hpp"

#include <string>

#include "messages/common/parse_json.hpp"

namespace troupe {

http_result<repository_load> parse_repository_load(std::string_view body) {
  constexpr size_t longest = 64 << 10;
  if (body.size() > longest)
    return http_error{413, "the body has " + std::to_string(body.size()) +
                               " bytes, more than 65536; models are loaded from the server's own files"};
  if (body.empty()) return repository_load{};
  const auto document = parse_json(body);
  if (!document.is_object()) return http_error{400, "the body is not a JSON object, or is nested too deeply"};
  const auto parameters = document.find("parameters");
  if (parameters == document.end()) return repository_load{};
  if (!parameters->is_object()) return http_error{400, "parameters: must be an object"};
  for (const auto& [key, value] : parameters->items())
    if (key != "config")
      return http_error{400, "parameters." + key +
                                 ": only config is supported; models are loaded from the server's own files"};
  const auto config = parameters->find("config");
  if (config == parameters->end()) return repository_load{};
  if (!config->is_string()) return http_error{400, "parameters.config: must be a string with JSON"};
  return repository_load{config->get<std::string>()};
}

http_result<bool> parse_repository_index(std::string_view body) {
  constexpr size_t longest = 4 << 10;
  const http_error wrong{400, R"(the body must be empty, {} or {"ready": true})"};
  if (body.empty()) return false;
  if (body.size() > longest) return wrong;
  const auto document = parse_json(body);
  const auto ready = document.find("ready");
  if (!document.is_object() || (ready != document.end() && !ready->is_boolean())) return wrong;
  return ready != document.end() && ready->get<bool>();
}

}  // namespace troupe
