#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "gpu/chat_template/chat_template.hpp"
#include "gpu/chat_template/config_file.hpp"

namespace troupe::llm {

namespace {

using nlohmann::json;

[[noreturn]] void fail_template(const std::filesystem::path& file, std::string_view what) {
  throw template_error(fmt::format("{}: {}", file.string(), what));
}

/// The template named "default" in a list of {"name", "template"}.
const json* default_template(const json& list, const std::filesystem::path& file) {
  for (const auto& item : list) {
    if (!item.is_object() || !item.contains("name") || !item.contains("template")) {
      fail_template(file, "each of the chat_template list must have a \"name\" and a \"template\"");
    }
    if (item["name"] == "default") return &item["template"];
  }
  fail_template(file, "the chat_template list has no entry with the name \"default\": add one");
}

std::shared_ptr<const chat_template> read_json(const std::filesystem::path& file) {
  const auto config = read_config_object(file);
  if (config.is_null()) return nullptr;
  const auto at = config.find("chat_template");
  if (at == config.end() || at->is_null()) return nullptr;
  const auto* source = at->is_array() ? default_template(*at, file) : &*at;
  if (!source->is_string())
    fail_template(file, "chat_template must be a string, or a list of named templates");
  return std::make_shared<const chat_template>(source->get_ref<const std::string&>(),
                                               file.string() + ": chat_template");
}

}  // namespace

std::shared_ptr<const chat_template> read_chat_template(const std::filesystem::path& folder) {
  // as in Transformers: a separate file takes precedence over tokenizer_config.json
  const auto file = folder / "chat_template.jinja";
  if (const auto source = read_config_text(file))
    return std::make_shared<const chat_template>(*source, file.string());
  if (auto found = read_json(folder / "chat_template.json")) return found;
  return read_json(folder / "tokenizer_config.json");
}

}  // namespace troupe::llm
