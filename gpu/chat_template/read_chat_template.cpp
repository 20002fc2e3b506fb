#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "gpu/chat_template/chat_template.hpp"
#include "gpu/common/model_error.hpp"

namespace troupe::llm {

namespace {

using nlohmann::json;

constexpr size_t max_template_file_bytes =
    size_t{64} << 20;  // tokenizer_config.json lists added tokens; those are large

[[noreturn]] void fail(const std::filesystem::path& file, std::string_view what) {
  throw model_error(fmt::format("{}: {}", file.string(), what));
}

[[noreturn]] void fail_template(const std::filesystem::path& file, std::string_view what) {
  throw template_error(fmt::format("{}: {}", file.string(), what));
}

/// None if there is no such file.
std::optional<std::string> read_text(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::exists(file, error)) return std::nullopt;
  const auto size = std::filesystem::file_size(file, error);
  if (error) fail(file, fmt::format("cannot be read: {}", error.message()));
  if (size > max_template_file_bytes)
    fail(file, fmt::format("has {} bytes; at most {} are read", size, max_template_file_bytes));
  std::ifstream in(file, std::ios::binary);
  std::string text(size, '\0');
  if (!in.read(text.data(), static_cast<std::streamsize>(size))) fail(file, "cannot be read");
  return text;
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
  const auto text = read_text(file);
  if (!text) return nullptr;
  int deepest = 0;
  const auto shallow = [&](int depth, json::parse_event_t, json&) {
    deepest = std::max(deepest, depth);
    return deepest <= 64;
  };
  const auto config = json::parse(*text, shallow, false);
  if (deepest > 64 || !config.is_object()) fail(file, "is not a JSON object");
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
  if (const auto source = read_text(file))
    return std::make_shared<const chat_template>(*source, file.string());
  if (auto found = read_json(folder / "chat_template.json")) return found;
  return read_json(folder / "tokenizer_config.json");
}

}  // namespace troupe::llm
