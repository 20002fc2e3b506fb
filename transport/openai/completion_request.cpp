#include <limits>

#include "transport/openai/base_fields.hpp"

namespace troupe::openai {
namespace {

constexpr size_t max_prompts = 128;

}  // namespace

result<completion_request> parse_completion(std::string_view body) {
  return read_body(body, [](body_reader& in) {
    completion_request request;
    request.max_tokens = 16;
    uint32_t best_of = 0;
    in.read([&](const std::string& key) {
      if (key == "prompt") {
        request.prompts = take_texts(in, key, max_prompts);
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
