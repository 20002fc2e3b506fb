// completion_answer turns the tokens of one client's completion into its response: it detokenizes them,
// applies stop strings, and writes an answer or a stream of events in OpenAI's format.
#pragma once
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/common/outcome.hpp"
#include "actors/llm/tokenizer_bundle.hpp"
#include "gpu/tokenizer/detokenizer.hpp"
#include "messages/llm/generation.hpp"
#include "policies/llm/stop_strings.hpp"
#include "transport/http/message.hpp"
#include "transport/openai/completion_response.hpp"

namespace troupe {

/// Not thread-safe: built by one thread, used by another from then on.
class completion_answer {
 public:
  struct options {
    openai::completion_kind kind = openai::completion_kind::completion;
    std::string id;
    std::chrono::sys_seconds created{};
    std::string model;     ///< the name that the client used
    uint32_t choices = 1;  ///< per prompt
    bool stream = false;
    bool include_usage = false;
    bool logprobs = false;
    bool skip_special_tokens = true;
    bool include_stop = false;
    std::vector<std::string> stop;
  };

  completion_answer(options o, std::shared_ptr<const tokenizer_bundle> of, http_reply reply);

  /// Adds a prompt; `echo` precedes each of its answers.
  void add_prompt(request_id id, const std::vector<llm::token>& prompt, const std::string& echo);
  const std::vector<request_id>& requests() const { return requests_; }
  http_reply& reply() { return reply_; }

  /// A token of an open choice. True: the choice ends here, with a stop string.
  bool token(size_t prompt, const generated_token& t);
  /// The outcome of a prompt's request. True: the client has its answer, and the other prompts are no longer
  /// needed.
  bool ended(const outcome& how);

 private:
  struct kept_token {
    std::string text;
    float logprob = 0;
    std::vector<std::pair<std::string, float>> top;
    uint64_t offset = 0;
  };
  struct choice {
    llm::detokenizer spoken;
    stop_strings stops;
    std::string text;                // the answer so far; of a stream, the echo that is sent first
    std::vector<kept_token> tokens;  // with logprobs: all; of a stream, those not sent yet
    uint64_t characters = 0;         // so far
    finish_reason finish = finish_reason::none;
    bool started = false;  // of a stream
  };

  openai::answer_head head() const;
  void keep(choice& c, const generated_token& t, std::string_view piece);
  void stream(uint32_t index, std::string_view text);
  void begin_stream(std::string first);
  void answer();
  void finish_stream();
  openai::completion_choice piece_of(const choice& c, uint32_t index, std::string_view text);

  options options_;
  std::shared_ptr<const tokenizer_bundle> language_;
  http_reply reply_;
  std::optional<http_stream> stream_;
  std::optional<openai::answer_stream> events_;
  std::vector<request_id> requests_;  // by prompt
  std::vector<choice> choices_;       // of prompt 0, then of prompt 1, ...
  openai::token_usage usage_;
  size_t unfinished_ = 0;  // prompts
  bool over_ = false;
  // buffers of `piece_of`, reused
  std::vector<openai::token_report> reports_;
  std::vector<openai::token_alternative> alternatives_;
};

/// A drop or failure as an error in OpenAI's format.
openai::error completion_refusal(const outcome& how);

}  // namespace troupe
