// The chat template of a checkpoint: renders a conversation as the model's prompt format. Supports the subset
// of Jinja that templates of the Llama, Mistral and Qwen2 families use, and rejects anything else with a
// clear message. Results equal those of jinja2's ImmutableSandboxedEnvironment as set up by Transformers
// (trim_blocks, lstrip_blocks, loop controls, generation, tojson), except: integers have 64 bits; names are
// ASCII; tuples cannot be keys of dicts; | safe does nothing; letters change case one to one (and ß); a
// variable of the request can be read in loops and macros before the first {% set %} of its name. Two filters
// are not Jinja's: from_json and fromjson, Python's json.loads.
#pragma once
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "gpu/chat_template/content_format.hpp"
#include "gpu/chat_template/template_error.hpp"

namespace troupe::llm {

/// Immutable, thread-safe.
class chat_template {
 public:
  /// Throws template_error with line and column if the template does not parse or uses an unsupported
  /// feature.
  chat_template(std::string_view source, const std::string& name);
  ~chat_template();

  /// The form in which `render` takes the contents of messages.
  content_format contents() const;
  /// `variables`: an object with messages, add_generation_prompt, bos_token, eos_token, tools (or null), ...
  /// and strftime_now: the date, with or without time, for the function of this name, "2024-07-26" or
  /// "2024-07-26T14:05:09". Throws request_refused for a template's raise_exception, wrong types, more than 4
  /// MiB of text, too many steps, or a call of strftime_now without the variable.
  std::string render(const nlohmann::ordered_json& variables) const;

 private:
  struct parsed;
  std::unique_ptr<const parsed> parsed_;
};

/// Reads chat_template.jinja, else chat_template.json, else tokenizer_config.json ("chat_template": a string,
/// or a list of named templates, of which "default" is used). Null if the checkpoint has none. Throws
/// template_error if the template cannot be used, and another model_error if a file cannot be read or is no
/// JSON; both name the file.
std::shared_ptr<const chat_template> read_chat_template(const std::filesystem::path& folder);

}  // namespace troupe::llm
