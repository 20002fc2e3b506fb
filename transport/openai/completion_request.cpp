#include <limits>

#include "transport/openai/base_fields.hpp"

namespace troupe::openai {
namespace {

constexpr size_t max_prompts = 128;
constexpr size_t any_number = std::numeric_limits<size_t>::max();  // the body's size bounds it

std::vector<llm::token> take_tokens(body_reader& in, const std::string& name) {
  std::vector<llm::token> tokens;
  in.list(name, any_number, [&](place at) { tokens.push_back(in.whole<llm::token>(at, 0)); });
  if (tokens.empty()) refuse(name, name + ": has no tokens");
  return tokens;
}

// Text, tokens, or a list of either; the first element decides.
void take_prompts(std::vector<prompt>& prompts, body_reader& in) {
  if (in.peek() == '"') {
    prompts.emplace_back(in.text("prompt"));
    return;
  }
  if (in.peek() != '[') in.wrong("prompt", "must be a string, a list of tokens, or a list of these");
  std::vector<llm::token> tokens;
  in.list("prompt", any_number, [&](place at) {
    const char next = in.peek();
    if (next == '"' || next == '[') {
      if (!tokens.empty()) in.wrong(at, "must be a token, like the elements before it");
      if (prompts.size() == max_prompts)
        refuse("prompt", "prompt: has more than " + std::to_string(max_prompts) + " prompts");
      if (next == '"')
        prompts.emplace_back(in.text(at));
      else
        prompts.emplace_back(take_tokens(in, at.text()));
    } else {
      if (!prompts.empty()) in.wrong(at, "must be a prompt, like the elements before it");
      tokens.push_back(in.whole<llm::token>(at, 0));
    }
  });
  if (!tokens.empty()) prompts.emplace_back(std::move(tokens));
  if (prompts.empty()) refuse("prompt", "prompt: must not be empty");
}

}  // namespace

result<completion_request> parse_completion(std::string_view body) {
  return read_body(body, [](body_reader& in) {
    completion_request request;
    request.max_tokens = 16;
    uint32_t best_of = 0;
    in.read([&](const std::string& key) {
      if (key == "prompt") {
        take_prompts(request.prompts, in);
      } else if (key == "max_tokens" || key == "max_completion_tokens") {
        const auto max_tokens = in.whole<uint32_t>(key, 1, std::numeric_limits<int32_t>::max());
        if (key != "max_tokens" || !in.has("max_completion_tokens")) request.max_tokens = max_tokens;
      } else if (key == "echo") {
        request.echo = in.boolean(key);
      } else if (key == "logprobs") {
        request.top_logprobs = in.whole<uint32_t>(key, 0, 20);
        request.logprobs = true;
      } else if (key == "best_of") {
        best_of = in.whole<uint32_t>(key, 1);
      } else {
        return take_shared(request, in, key) || take_unsupported(in, key);
      }
      return true;
    });
    check_shared(request, in);
    if (!in.has("prompt")) refuse("prompt", "prompt: is missing");
    if (best_of != 0 && best_of != request.n)
      refuse("best_of", "best_of: is not supported unless it equals n; leave it out");
    if (request.echo && request.logprobs)
      refuse("echo", "echo: is not supported with logprobs; leave one out");
    return request;
  });
}

}  // namespace troupe::openai
