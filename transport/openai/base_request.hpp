// Bodies of POST /v1/completions and /v1/chat/completions, from untrusted clients: OpenAI's fields and those
// that vLLM adds. A null field counts as absent, and unknown fields are ignored. Known fields that would
// change the answer but are unsupported are refused unless they request nothing. The caller checks further
// bounds: the vocabulary, the model's maximum length, `n`.
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

/// Fields shared by both bodies. Tokens are at least 0 and not checked against a vocabulary.
struct base_request {
  std::string model;                   ///< a model's name or an adapter's
  std::optional<uint32_t> max_tokens;  ///< 1 or more; nothing: as many as fit
  /// Bounds: temperature 0 to 2 (below 1e-5 it is 0), top_p over 0 to 1, min_p 0 to 1, presence and frequency
  /// penalty -2 to 2, repetition penalty 0.01 to 100, each bias -100 to 100, at most 1024 of them.
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
  uint32_t top_logprobs = 0;        ///< and of this number of most likely ones, at most 20
  std::string user;                 ///< 1024 bytes at most
  std::string cache_salt;           ///< 1024 bytes at most; empty: none
  std::optional<int32_t> priority;  ///< lower ones first, as in vLLM
  std::optional<duration> ttft;     ///< TTFT target; `ttft_ms`, our own field: 1 us to a day
  std::optional<duration> tpot;     ///< TPOT target; `tpot_ms`, likewise
  bool operator==(const base_request&) const = default;
};

/// Text, or at least one token.
using prompt = std::variant<std::string, std::vector<llm::token>>;

struct completion_request : base_request {
  std::vector<prompt> prompts;  ///< 1 to 128
  bool echo = false;            ///< the answer includes the prompt; not with logprobs
  bool operator==(const completion_request&) const = default;
};

/// `max_tokens` is 16 unless given.
result<completion_request> parse_completion(std::string_view body);

struct chat_request : base_request {
  /// At least one, for a chat template: each an object of role and content, both strings. Name, tool_call_id
  /// and tool_calls are kept if given; arguments of tool calls are objects, as templates expect. Parts of
  /// content are joined with line ends.
  nlohmann::ordered_json messages;
  bool add_generation_prompt = true;
  nlohmann::ordered_json template_variables = nlohmann::ordered_json::object();  ///< chat_template_kwargs
  bool operator==(const chat_request&) const = default;
};

/// 4 MiB of messages at most.
result<chat_request> parse_chat(std::string_view body);

}  // namespace troupe::openai
