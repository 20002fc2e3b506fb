// The chat template of a checkpoint: a conversation as the text that the model was trained on. Templates are
// Jinja; the subset that those of the Llama, Mistral and Qwen2 families use, and a clear message for anything
// else. What is supported gives the text that jinja2's ImmutableSandboxedEnvironment gives, set up as
// Transformers does (trim_blocks, lstrip_blocks, loop controls, generation, tojson), but for these: whole
// numbers have 64 bits, names are ASCII, tuples are no keys of dicts, | safe does nothing, letters change
// case one to one (and ß), and a variable of the request can be read in loops and macros before the first {%
// set %} of its name.
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
  /// and strftime_now: the date and perhaps time that the function of this name formats, "2024-07-26" or
  /// "2024-07-26T14:05:09"; a template that calls it without is refused.
  /// Throws request_refused: a template's raise_exception, wrong types, more than 4 MiB of text, too many
  /// steps.
  std::string render(const nlohmann::ordered_json& variables) const;

 private:
  struct parsed;
  std::unique_ptr<const parsed> parsed_;
};

/// Of chat_template.jinja, else chat_template.json, else tokenizer_config.json ("chat_template", a string or
/// a list of named ones of which "default" counts). Null if the checkpoint has none. Throws model_error with
/// the file's name.
std::shared_ptr<const chat_template> read_chat_template(const std::filesystem::path& folder);

}  // namespace troupe::llm
