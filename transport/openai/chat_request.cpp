#include <limits>

#include "transport/openai/base_fields.hpp"
#include "transport/openai/chat_messages.hpp"
#include "transport/openai/chat_template_kwargs.hpp"

namespace troupe::openai {
namespace {

void take_modalities(body_reader& in) {
  in.list("modalities", 16, [&](place at) {
    const auto modality = in.text(at);
    if (modality != "text") refuse("modalities", "modalities: models write text, not " + shortened(modality));
  });
}

}  // namespace

result<chat_request> parse_chat(std::string_view body) {
  return read_body(body, [](body_reader& in) {
    chat_request request;
    request.add_special_tokens = false;
    const auto tokens = [&](const std::string& key) {
      return in.whole<uint32_t>(key, 1, std::numeric_limits<int32_t>::max());
    };
    in.read([&](const std::string& key) {
      if (key == "messages") {
        request.messages = take_messages(in);
      } else if (key == "max_completion_tokens") {  // its newer name takes precedence
        request.max_tokens = tokens(key);
      } else if (key == "max_tokens") {
        const auto max_tokens = tokens(key);
        if (!in.has("max_completion_tokens")) request.max_tokens = max_tokens;
      } else if (key == "logprobs") {
        request.logprobs = in.boolean(key);
      } else if (key == "top_logprobs") {
        request.top_logprobs = in.whole<uint32_t>(key, 0, 20);
      } else if (key == "add_generation_prompt") {
        request.add_generation_prompt = in.boolean(key);
      } else if (key == "chat_template_kwargs") {
        request.template_variables = take_chat_template_kwargs(in);
      } else if (key == "echo") {
        if (in.boolean(key)) refuse("echo", "echo: is for /v1/completions only");
      } else if (key == "modalities") {
        take_modalities(in);
      } else {
        return take_shared(request, in, key) || take_unsupported(in, key);
      }
      return true;
    });
    check_shared(request, in);
    if (!in.has("messages")) refuse("messages", "messages: is missing");
    if (request.top_logprobs > 0 && !request.logprobs)
      refuse("top_logprobs", "top_logprobs: needs logprobs; set logprobs to true");
    return request;
  });
}

}  // namespace troupe::openai
