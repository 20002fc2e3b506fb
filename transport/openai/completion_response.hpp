// Answers to /v1/completions and /v1/chat/completions: whole ones, and the events of streamed ones. All texts
// are views of the caller's, valid during the call; invalid UTF-8 in them becomes U+FFFD.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "messages/llm/generation.hpp"
#include "transport/openai/error.hpp"

namespace troupe::openai {

enum class completion_kind { completion, chat };

/// Common head of every answer.
struct answer_head {
  completion_kind kind = completion_kind::completion;
  std::string_view id;  ///< of the request, without its prefix "cmpl-" or "chatcmpl-"
  std::chrono::sys_seconds created{};
  std::string_view model;  ///< as the client named it
};

/// A candidate token with its log-probability.
struct token_alternative {
  std::string_view text;   ///< of this token only
  std::string_view bytes;  ///< the same bytes; they need not be whole characters
  float logprob = 0;       ///< minus infinity is written as -9999
};

struct token_report {
  token_alternative chosen;
  std::span<const token_alternative> top;  ///< descending
  uint64_t text_offset = 0;  ///< characters of the text before it (character_count); only in completions
};

/// The text of a choice, or its next part.
struct completion_choice {
  uint32_t index = 0;
  std::string_view text;
  std::optional<std::span<const token_report>> logprobs;  ///< nothing: not requested
  finish_reason finish = finish_reason::none;             ///< `none` is written as null
};

struct token_usage {
  uint64_t prompt_tokens = 0, completion_tokens = 0;
  uint64_t cached_tokens = 0;  ///< of the prompts: not computed for this answer
};

/// One JSON document.
void append_answer(std::string& out, const answer_head& head, std::span<const completion_choice> choices,
                   const token_usage& usage);

/// The events of one streamed answer, "data: {...}\n\n". Created once per request and called per token, so
/// that little is written besides the text.
class answer_stream {
 public:
  /// `with_usage`: the client requested `append_usage` (stream_options.include_usage); other events then have
  /// a null usage.
  answer_stream(const answer_head& head, bool with_usage);

  /// Begins a choice: for chats its role, for completions nothing.
  void append_begin(std::string& out, uint32_t choice) const;
  /// The next part of a choice; the last one has its finish_reason.
  void append_delta(std::string& out, const completion_choice& piece) const;
  /// After all choices.
  void append_usage(std::string& out, const token_usage& usage) const;

 private:
  void append_end(std::string& out) const;

  completion_kind kind_;
  bool with_usage_;
  std::string head_;  // of every event, up to its choices
};

/// An error instead of the rest of a stream; only its end follows.
void append_error_event(std::string& out, const error& e);
/// The end of every stream.
void append_done(std::string& out);

}  // namespace troupe::openai
