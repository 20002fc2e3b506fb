// The bodies of POST /v1/completions and /v1/chat/completions, as strangers send them: OpenAI's fields and
// those that vLLM adds. A field that is null counts as absent, unknown fields are ignored; known ones that
// would change the answer, and that we do not have, are refused unless they ask for nothing. Whoever serves
// the request bounds it further: the vocabulary, the length of the model's sequences, `n`.
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "messages/common/time.hpp"
#include "messages/llm/sampling.hpp"
#include "messages/llm/token.hpp"
#include "transport/openai/error.hpp"

namespace troupe::openai {

/// What both bodies share. Tokens are 0 or more, not checked against a vocabulary.
struct base_request {
  std::string model;                   ///< a model's name or an adapter's
  std::optional<uint32_t> max_tokens;  ///< 1 or more; nothing: as many as fit
  /// Within these bounds: temperature 0 to 2 (below 1e-5 it is 0), top_p over 0 to 1, min_p 0 to 1, presence
  /// and frequency penalty -2 to 2, repetition penalty 0.01 to 100, each bias -100 to 100, 1024 of them.
  llm::sampling_params sampling;
  std::optional<uint64_t> seed;         ///< as in `sampling`; a negative one is its two's complement
  std::vector<std::string> stop;        ///< 16 at most, each of 1 to 1024 bytes
  bool include_stop = false;            ///< the text ends with the stop string, not before it
  std::vector<llm::token> stop_tokens;  ///< 128 at most
  bool ignore_eos = false;
  bool skip_special_tokens = true;
  bool add_special_tokens = true;  ///< to the prompt; chats: false, their templates do
  uint32_t n = 1;                  ///< sequences of each prompt, 1 to 128
  bool stream = false;
  bool include_usage = false;       ///< in the stream
  bool logprobs = false;            ///< of the chosen tokens
  uint32_t top_logprobs = 0;        ///< and of so many most likely ones, 20 at most
  std::string user;                 ///< 1024 bytes at most
  std::optional<int32_t> priority;  ///< lower ones first, as vLLM has it
  std::optional<duration> ttft;     ///< the first token's target; `ttft_ms`, our own: 1 us to a day
  std::optional<duration> tpot;     ///< and for each further one, in the mean; `tpot_ms`, likewise
  bool operator==(const base_request&) const = default;
};

/// Text, or the tokens of one: then at least one.
using prompt = std::variant<std::string, std::vector<llm::token>>;

struct completion_request : base_request {
  std::vector<prompt> prompts;  ///< 1 to 128
  bool echo = false;            ///< the prompt comes before its answer; not with logprobs
  bool operator==(const completion_request&) const = default;
};

/// `max_tokens` is 16 unless given.
result<completion_request> parse_completion(std::string_view body);

struct chat_request : base_request {
  /// For a chat template, at least one: each an object of role and content, both strings; with name,
  /// tool_call_id and tool_calls if given, whose arguments are objects, as templates want them. Parts of
  /// content are joined with line ends.
  nlohmann::ordered_json messages;
  bool add_generation_prompt = true;
  bool operator==(const chat_request&) const = default;
};

/// 4 MiB of messages at most.
result<chat_request> parse_chat(std::string_view body);

}  // namespace troupe::openai
