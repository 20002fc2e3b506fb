#include "gpu/chat_template/special_tokens.hpp"

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "gpu/chat_template/config_file.hpp"

namespace troupe::llm {

namespace {

using nlohmann::json;

/// A text, or an added token with its content and how it is found in texts.
const std::string* content_of(const json& token) {
  if (token.is_object()) {
    const auto content = token.find("content");
    return content != token.end() ? content->get_ptr<const json::string_t*>() : nullptr;
  }
  return token.get_ptr<const json::string_t*>();
}

void take(special_tokens& tokens, const std::string& name, const json& token) {
  if (token.is_null())
    tokens.insert_or_assign(name, std::nullopt);
  else if (const auto* content = content_of(token))
    tokens.insert_or_assign(name, *content);
}

void take(special_tokens& tokens, const json& config) {
  for (const auto& [name, token] : config.items())
    if (name.ends_with("_token")) take(tokens, name, token);
  // of models for more than text: image_token, ...
  for (const char* key : {"extra_special_tokens", "model_specific_special_tokens"})
    if (const auto more = config.find(key); more != config.end() && more->is_object())
      for (const auto& [name, token] : more->items()) take(tokens, name, token);
}

}  // namespace

special_tokens read_special_tokens(const std::filesystem::path& folder) {
  special_tokens tokens;
  const auto config = read_config_object(folder / "tokenizer_config.json");
  if (config.is_object()) take(tokens, config);
  if (config.is_object() && config.contains("added_tokens_decoder")) return tokens;
  const auto older = read_config_object(folder / "special_tokens_map.json");
  if (older.is_object()) take(tokens, older);
  return tokens;
}

}  // namespace troupe::llm
