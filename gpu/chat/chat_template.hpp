// The chat template of a checkpoint: a conversation as the text that the model was trained on. Templates are
// Jinja; the subset that those of the Llama, Mistral and Qwen2 families use, and a clear message for anything
// else.
#pragma once
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace troupe::llm {

/// Immutable, thread-safe.
class chat_template {
 public:
  /// Throws model_error with line and column if the template does not parse or uses what is not supported.
  chat_template(std::string_view source, const std::string& name);
  ~chat_template();

  /// `variables`: an object with messages, add_generation_prompt, bos_token, eos_token, tools (or null), ...
  /// Throws request_refused (a template's raise_exception, wrong types, too long an output, too many steps).
  std::string render(const nlohmann::ordered_json& variables) const;

 private:
  struct parsed;
  std::unique_ptr<const parsed> parsed_;
};

/// Of tokenizer_config.json ("chat_template", a string or a list of named ones of which "default" counts) or
/// chat_template.jinja. Null if the checkpoint has none.
std::shared_ptr<const chat_template> read_chat_template(const std::filesystem::path& folder);

}  // namespace troupe::llm
