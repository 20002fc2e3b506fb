// Bodies and answers of POST /tokenize and /detokenize, as in vLLM.
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "messages/llm/token.hpp"
#include "transport/openai/error.hpp"

namespace troupe::openai {

/// A text, or a chat as in chat_request.
struct tokenize_request {
  std::string model;                  ///< empty: not named
  std::optional<std::string> prompt;  ///< else messages
  nlohmann::ordered_json messages;
  bool add_special_tokens = true;  ///< chats: false, unless given
  bool add_generation_prompt = true;
  nlohmann::ordered_json template_variables = nlohmann::ordered_json::object();
  bool return_token_strs = false;
};
result<tokenize_request> parse_tokenize(std::string_view body);

/// `names`: each token as its vocabulary writes it, if requested.
std::string format_tokenize(std::span<const llm::token> tokens,
                            std::optional<std::span<const std::string>> names, uint32_t max_model_len);

struct detokenize_request {
  std::string model;  ///< empty: not named
  std::vector<llm::token> tokens;
};
result<detokenize_request> parse_detokenize(std::string_view body);
std::string format_detokenize(std::string_view text);

}  // namespace troupe::openai
