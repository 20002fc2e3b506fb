// The tokenizer, chat template and special tokens of a language model, for the text of requests and answers.
#pragma once
#include <chrono>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "gpu/chat_template/chat_template.hpp"
#include "gpu/chat_template/special_tokens.hpp"
#include "gpu/tokenizer/tokenizer.hpp"

namespace troupe {

struct tokenizer_bundle {
  std::shared_ptr<const llm::tokenizer> words;
  std::shared_ptr<const llm::chat_template> chat;  ///< null: there is none that can be used
  std::string
      chat_problem;  ///< why the checkpoint's template cannot be used; empty: it has none, or can chat
  llm::special_tokens special;          ///< for chat templates
  size_t longest_token = 1;             ///< bytes of the longest one
  std::vector<llm::token> end_of_text;  ///< end a sequence, unless its request ignores them
};

/// The bytes of a single token, with its leading space; the name of a special token.
std::string text_of(const tokenizer_bundle& of, llm::token t);

/// Renders a conversation with the model's chat template. `more`: an object of further variables. Throws
/// request_refused, as chat_template::render. Requires: there is a template.
std::string render_chat(const tokenizer_bundle& of, const nlohmann::ordered_json& messages,
                        bool add_generation_prompt, const nlohmann::ordered_json& more,
                        std::chrono::sys_days today);

}  // namespace troupe
