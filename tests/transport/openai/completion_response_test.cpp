#include "transport/openai/completion_response.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <nlohmann/json.hpp>

namespace troupe::openai {
namespace {

using nlohmann::json;
using std::chrono::seconds;

const answer_head completion_head{completion_kind::completion, "a\"7",
                                  std::chrono::sys_seconds(seconds(1700000000)), "llama/α"};
const answer_head chat_head{completion_kind::chat, "9", std::chrono::sys_seconds(seconds(1700000000)), "m"};

json answer(const answer_head& head, std::span<const completion_choice> choices, token_usage usage = {3, 2}) {
  std::string out = "before ";
  append_answer(out, head, choices, usage);
  REQUIRE(out.starts_with("before "));
  return json::parse(out.substr(7));
}

/// The JSON of the only event.
json event(const std::string& text) {
  REQUIRE(text.starts_with("data: "));
  REQUIRE(text.ends_with("\n\n"));
  const auto document = text.substr(6, text.size() - 8);
  REQUIRE(document.find('\n') == std::string::npos);
  return json::parse(document);
}

const token_alternative top_of_first[] = {{" a", " a", -0.25f},
                                          {"\n", "\n", -2.5f},
                                          {" a", "\x01", -3},
                                          {"x", "x", -std::numeric_limits<float>::infinity()}};
const token_report reports[] = {
    {{" a", " a", -0.25f}, top_of_first, 0},
    {{"\xE6", "\xE6", -1.5f}, {}, 2},
};

TEST_CASE("a whole completion is OpenAI's text_completion") {
  const completion_choice choices[] = {{0, "one \"1\"\n\xff", {}, finish_reason::stop},
                                       {1, "", {}, finish_reason::length}};
  CHECK(answer(completion_head, choices) == json::parse(R"({
    "id": "cmpl-a\"7", "object": "text_completion", "created": 1700000000, "model": "llama/α",
    "choices": [
      {"index": 0, "text": "one \"1\"\n�", "logprobs": null, "finish_reason": "stop"},
      {"index": 1, "text": "", "logprobs": null, "finish_reason": "length"}],
    "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5,
              "prompt_tokens_details": {"cached_tokens": 0}}})"));
}

TEST_CASE("a whole chat is OpenAI's chat.completion") {
  const completion_choice choices[] = {{0, "hello", {}, finish_reason::stop}};
  CHECK(answer(chat_head, choices, {uint64_t{1} << 40, 1}) == json::parse(R"({
    "id": "chatcmpl-9", "object": "chat.completion", "created": 1700000000, "model": "m",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "hello", "refusal": null}, "logprobs": null,
                 "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 1099511627776, "completion_tokens": 1, "total_tokens": 1099511627777,
              "prompt_tokens_details": {"cached_tokens": 0}}})"));
}

TEST_CASE("log-probabilities of a completion are four lists with distinct texts and the chosen token") {
  const completion_choice choices[] = {{0, " a�", std::span(reports), finish_reason::length}};
  CHECK(answer(completion_head, choices)["choices"][0]["logprobs"] == json::parse(R"({
    "tokens": [" a", "�"], "token_logprobs": [-0.25, -1.5],
    "top_logprobs": [{" a": -0.25, "\n": -2.5, "x": -9999}, {"�": -1.5}], "text_offset": [0, 2]})"));
  std::string out;
  append_answer(out, completion_head, choices, {});
  const auto first = out.find("\" a\":");
  CHECK(out.find("\" a\":", first + 1) == std::string::npos);
}

TEST_CASE("log-probabilities of a chat have the bytes of each token") {
  const completion_choice choices[] = {{0, "", std::span(reports), finish_reason::length}};
  CHECK(answer(chat_head, choices)["choices"][0]["logprobs"] == json::parse(R"({"content": [
    {"token": " a", "logprob": -0.25, "bytes": [32, 97], "top_logprobs": [
      {"token": " a", "logprob": -0.25, "bytes": [32, 97]}, {"token": "\n", "logprob": -2.5, "bytes": [10]},
      {"token": " a", "logprob": -3, "bytes": [1]}, {"token": "x", "logprob": -9999, "bytes": [120]}]},
    {"token": "�", "logprob": -1.5, "bytes": [230], "top_logprobs": []}], "refusal": null})"));
}

TEST_CASE("a streamed completion is a chunk for each piece") {
  const answer_stream stream(completion_head, false);
  std::string out;
  stream.append_begin(out, 0);
  CHECK(out.empty());
  stream.append_delta(out, {0, "Zü\r\n", {}, finish_reason::none});
  CHECK(event(out) == json::parse(R"({"id": "cmpl-a\"7", "object": "text_completion", "created": 1700000000,
    "model": "llama/α", "choices": [{"index": 0, "text": "Zü\r\n", "logprobs": null, "finish_reason": null}]})"));
  out.clear();
  stream.append_delta(out, {3, "", std::span(reports), finish_reason::stop});
  const auto last = event(out)["choices"][0];
  CHECK(last["index"] == 3);
  CHECK(last["text"] == "");
  CHECK(last["finish_reason"] == "stop");
  CHECK(last["logprobs"]["text_offset"] == json{0, 2});
}

TEST_CASE("a streamed chat begins with the role and ends with the reason") {
  const answer_stream stream(chat_head, false);
  std::string out;
  stream.append_begin(out, 1);
  CHECK(event(out) ==
        json::parse(R"({"id": "chatcmpl-9", "object": "chat.completion.chunk", "created": 1700000000,
    "model": "m", "choices": [{"index": 1, "delta": {"role": "assistant", "content": ""}, "logprobs": null,
    "finish_reason": null}]})"));
  out.clear();
  stream.append_delta(out, {1, "hi", std::span(reports), finish_reason::none});
  const auto choice = event(out)["choices"][0];
  CHECK(choice["delta"] == json::parse(R"({"content": "hi"})"));
  CHECK(choice["finish_reason"] == nullptr);
  CHECK(choice["logprobs"]["content"].size() == 2);
  out.clear();
  stream.append_delta(out, {1, "", {}, finish_reason::length});
  CHECK(event(out)["choices"][0] ==
        json::parse(R"({"index": 1, "delta": {}, "logprobs": null, "finish_reason": "length"})"));
  out.clear();
  stream.append_delta(out, {1, "!", {}, finish_reason::stop});
  CHECK(event(out)["choices"][0] ==
        json::parse(R"({"index": 1, "delta": {"content": "!"}, "logprobs": null, "finish_reason": "stop"})"));
}

TEST_CASE("requested usage comes last in a stream, and is null before") {
  for (const auto& head : {completion_head, chat_head}) {
    const answer_stream stream(head, true);
    std::string out;
    stream.append_delta(out, {0, "x", {}, finish_reason::none});
    const auto piece = event(out);
    REQUIRE(piece.contains("usage"));
    CHECK(piece["usage"] == nullptr);
    out.clear();
    stream.append_usage(out, {7, 5, 4});
    const auto last = event(out);
    CHECK(last["choices"] == json::array());
    CHECK(last["usage"] == json::parse(R"({"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12,
                          "prompt_tokens_details": {"cached_tokens": 4}})"));
    CHECK(last["object"] == piece["object"]);
  }
}

TEST_CASE("a failed stream has an error event before its end") {
  std::string out;
  append_error_event(out, {503, "lost", "", ""});
  CHECK(event(out)["error"]["type"] == "server_error");
  append_done(out);
  CHECK(out.ends_with("\n\ndata: [DONE]\n\n"));
}

}  // namespace
}  // namespace troupe::openai
