#include "transport/openai/completion_response.hpp"

#include "transport/openai/json_append.hpp"
#include "transport/openai/logprobs.hpp"

namespace troupe::openai {
namespace {

std::string head_of(const answer_head& head, std::string_view object) {
  std::string out = head.kind == completion_kind::chat ? R"({"id":"chatcmpl-)" : R"({"id":"cmpl-)";
  std::string id;
  append_quoted(id, head.id);
  out.append(id, 1);  // without its first quote
  out += R"(,"object":")";
  out += object;
  out += R"(","created":)";
  append_number(out, head.created.time_since_epoch().count());
  out += R"(,"model":)";
  append_quoted(out, head.model);
  return out += R"(,"choices":)";
}

void append_usage_object(std::string& out, const token_usage& usage) {
  out += R"("usage":{"prompt_tokens":)";
  append_number(out, usage.prompt_tokens);
  out += R"(,"completion_tokens":)";
  append_number(out, usage.completion_tokens);
  out += R"(,"total_tokens":)";
  append_number(out, usage.prompt_tokens + usage.completion_tokens);
  out += R"(,"prompt_tokens_details":{"cached_tokens":)";
  append_number(out, usage.cached_tokens);
  out += "}}";
}

void append_index(std::string& out, uint32_t index) {
  out += R"({"index":)";
  append_number(out, index);
}

void append_logprobs(std::string& out, completion_kind kind, const completion_choice& choice) {
  out += R"(,"logprobs":)";
  if (!choice.logprobs)
    out += "null";
  else if (kind == completion_kind::chat)
    append_chat_logprobs(out, *choice.logprobs);
  else
    append_completion_logprobs(out, *choice.logprobs);
}

void append_finish(std::string& out, finish_reason reason) {
  out += R"(,"finish_reason":)";
  if (reason == finish_reason::none)
    out += "null}";
  else
    append_quoted(out, to_string(reason)), out += '}';
}

void append_choice(std::string& out, completion_kind kind, const completion_choice& choice) {
  append_index(out, choice.index);
  out += kind == completion_kind::chat ? R"(,"message":{"role":"assistant","content":)" : R"(,"text":)";
  append_quoted(out, choice.text);
  if (kind == completion_kind::chat) out += R"(,"refusal":null})";
  append_logprobs(out, kind, choice);
  append_finish(out, choice.finish);
}

}  // namespace

void append_answer(std::string& out, const answer_head& head, std::span<const completion_choice> choices,
                   const token_usage& usage) {
  out += head_of(head, head.kind == completion_kind::chat ? "chat.completion" : "text_completion");
  append_list(out, choices, [&](const completion_choice& choice) { append_choice(out, head.kind, choice); });
  out += ',';
  append_usage_object(out, usage);
  out += '}';
}

answer_stream::answer_stream(const answer_head& head, bool with_usage)
    : kind_(head.kind),
      with_usage_(with_usage),
      head_("data: " + head_of(head, head.kind == completion_kind::chat ? "chat.completion.chunk"
                                                                        : "text_completion")) {}

void answer_stream::append_end(std::string& out) const {
  out += with_usage_ ? "],\"usage\":null}\n\n" : "]}\n\n";
}

void answer_stream::append_begin(std::string& out, uint32_t choice) const {
  if (kind_ != completion_kind::chat) return;
  out += head_;
  out += '[';
  append_index(out, choice);
  out += R"(,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null})";
  append_end(out);
}

void answer_stream::append_delta(std::string& out, const completion_choice& piece) const {
  out += head_;
  out += '[';
  append_index(out, piece.index);
  if (kind_ == completion_kind::completion) {
    out += R"(,"text":)";
    append_quoted(out, piece.text);
  } else if (piece.text.empty() && piece.finish != finish_reason::none) {
    out += R"(,"delta":{})";
  } else {
    out += R"(,"delta":{"content":)";
    append_quoted(out, piece.text);
    out += '}';
  }
  append_logprobs(out, kind_, piece);
  append_finish(out, piece.finish);
  append_end(out);
}

void answer_stream::append_usage(std::string& out, const token_usage& usage) const {
  out += head_;
  out += "[],";
  append_usage_object(out, usage);
  out += "}\n\n";
}

void append_error_event(std::string& out, const error& e) {
  out += "data: ";
  out += error_body(e);
  out += "\n\n";
}

void append_done(std::string& out) { out += "data: [DONE]\n\n"; }

}  // namespace troupe::openai
