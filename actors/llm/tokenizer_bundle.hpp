// A language model as a gateway sees it: the words, not the weights.
#pragma once
#include <chrono>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "gpu/chat_template/chat_template.hpp"
#include "gpu/tokenizer/tokenizer.hpp"

namespace troupe {

struct tokenizer_bundle {
  std::shared_ptr<const llm::tokenizer> words;
  std::shared_ptr<const llm::chat_template> chat;  ///< null: the checkpoint has none
  std::string begin, end;               ///< the special tokens of a text, as chat templates write them
  size_t longest_token = 1;             ///< bytes of the longest one
  std::vector<llm::token> end_of_text;  ///< these end a sequence unless a request says otherwise
};

/// The bytes of a token by itself, a leading space included; of a special token its name.
std::string text_of(const tokenizer_bundle& of, llm::token t);

/// A conversation as the text that the model was trained on. Throws request_refused, as
/// chat_template::render. Requires: there is a template.
std::string render_chat(const tokenizer_bundle& of, const nlohmann::ordered_json& messages,
                        bool add_generation_prompt, std::chrono::sys_days today);

}  // namespace troupe
