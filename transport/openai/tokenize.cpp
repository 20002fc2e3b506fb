#include "transport/openai/tokenize.hpp"

#include "transport/openai/base_fields.hpp"
#include "transport/openai/chat_messages.hpp"
#include "transport/openai/chat_template_kwargs.hpp"
#include "transport/openai/json_append.hpp"

namespace troupe::openai {
result<tokenize_request> parse_tokenize(std::string_view body) {
  return read_body(body, [](body_reader& in) {
    tokenize_request request;
    std::optional<bool> special;
    in.read([&](const std::string& key) {
      if (key == "model")
        request.model = in.text(key, longest_model_name);
      else if (key == "prompt")
        request.prompt = in.text(key);
      else if (key == "messages")
        request.messages = take_messages(in);
      else if (key == "add_special_tokens")
        special = in.boolean(key);
      else if (key == "add_generation_prompt")
        request.add_generation_prompt = in.boolean(key);
      else if (key == "chat_template_kwargs")
        request.template_variables = take_chat_template_kwargs(in);
      else if (key == "return_token_strs")
        request.return_token_strs = in.boolean(key);
      else
        return take_unsupported(in, key);
      return true;
    });
    if (in.has("prompt") == in.has("messages"))
      refuse("prompt", in.has("prompt") ? "prompt: cannot be combined with messages; give one of them"
                                        : "prompt: is missing; give prompt or messages");
    request.add_special_tokens = special.value_or(request.prompt.has_value());
    return request;
  });
}

std::string format_tokenize(std::span<const llm::token> tokens,
                            std::optional<std::span<const std::string>> names, uint32_t max_model_len) {
  std::string out = R"({"count":)";
  append_number(out, tokens.size());
  out += R"(,"max_model_len":)";
  append_number(out, max_model_len);
  out += R"(,"tokens":)";
  append_list(out, tokens, [&](llm::token t) { append_number(out, t); });
  out += R"(,"token_strs":)";
  if (names)
    append_list(out, *names, [&](const std::string& name) { append_quoted(out, name); });
  else
    out += "null";
  return out += '}';
}

result<detokenize_request> parse_detokenize(std::string_view body) {
  return read_body(body, [](body_reader& in) {
    detokenize_request request;
    in.read([&](const std::string& key) {
      if (key == "model")
        request.model = in.text(key, longest_model_name);
      else if (key == "tokens")
        in.list(key, std::numeric_limits<size_t>::max(),
                [&](place at) { request.tokens.push_back(in.whole<llm::token>(at, 0)); });
      else
        return false;
      return true;
    });
    if (!in.has("tokens")) refuse("tokens", "tokens: is missing");
    return request;
  });
}

std::string format_detokenize(std::string_view text) {
  std::string out = R"({"prompt":)";
  append_quoted(out, text);
  return out += '}';
}

}  // namespace troupe::openai
