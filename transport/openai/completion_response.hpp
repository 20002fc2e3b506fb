// The answers to /v1/completions and /v1/chat/completions: whole ones, and the events of streamed ones. All
// texts are views of the caller's, for the time of the call; what is not UTF-8 in them becomes U+FFFD.
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

/// What every answer says of itself.
struct answer_head {
  completion_kind kind = completion_kind::completion;
  std::string_view id;  ///< of the request; "cmpl-" or "chatcmpl-" is put before it
  std::chrono::sys_seconds created{};
  std::string_view model;  ///< as the client named it
};

/// A token that might have been.
struct token_alternative {
  std::string_view text;   ///< of this token alone
  std::string_view bytes;  ///< the same, where it is no whole character
  float logprob = 0;       ///< minus infinity is told as -9999
};

struct token_report {
  token_alternative chosen;
  std::span<const token_alternative> top;  ///< descending
  uint64_t text_offset = 0;  ///< characters of the text before it (character_count); completions tell it
};

/// A text, or what is new of it.
struct completion_choice {
  uint32_t index = 0;
  std::string_view text;
  std::optional<std::span<const token_report>> logprobs;  ///< nothing: the client did not ask
  finish_reason finish = finish_reason::none;             ///< told as null
};

struct token_usage {
  uint64_t prompt_tokens = 0, completion_tokens = 0;
};

/// One JSON document.
void append_answer(std::string& out, const answer_head& head, std::span<const completion_choice> choices,
                   const token_usage& usage);

/// The events of one streamed answer, "data: {...}\n\n". Costs little besides the text itself: made once a
/// request, called for each token.
class answer_stream {
 public:
  /// `with_usage`: the client wants `append_usage` (stream_options.include_usage); other events tell null.
  answer_stream(const answer_head& head, bool with_usage);

  /// A choice begins: chats tell its role, completions nothing.
  void append_begin(std::string& out, uint32_t choice) const;
  /// More of a choice; with the last of it its finish_reason.
  void append_delta(std::string& out, const completion_choice& piece) const;
  /// After all choices.
  void append_usage(std::string& out, const token_usage& usage) const;

 private:
  void append_end(std::string& out) const;

  completion_kind kind_;
  bool with_usage_;
  std::string head_;  // of every event, up to its choices
};

/// Instead of what is missing of a stream; no more comes but the end.
void append_error_event(std::string& out, const error& e);
/// The end of every stream.
void append_done(std::string& out);

}  // namespace troupe::openai
