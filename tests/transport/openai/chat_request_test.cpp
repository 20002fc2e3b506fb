#include <doctest/doctest.h>

#include "tests/transport/openai/refusal.hpp"
#include "transport/openai/base_request.hpp"

namespace troupe::openai {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view hello = R"([{"role": "user", "content": "hello"}])";

std::string with(std::string_view fields, std::string_view messages = hello) {
  return R"({"model": "m", "messages": )" + std::string(messages) +
         (fields.empty() ? "" : ", " + std::string(fields)) + "}";
}
chat_request take(std::string_view fields, std::string_view messages = hello) {
  auto r = parse_chat(with(fields, messages));
  REQUIRE_MESSAGE(r, refusal(r));
  return *r;
}
ordered_json messages_of(std::string_view messages) { return take("", messages).messages; }
std::string refused(std::string_view fields) { return refusal(parse_chat(with(fields))); }
std::string refused_messages(std::string_view messages) { return refusal(parse_chat(with("", messages))); }
std::string blamed_message(std::string_view messages) { return blamed(parse_chat(with("", messages))); }

TEST_CASE("a chat generates as much as fits unless it has a limit, under either name") {
  const auto r = take("");
  CHECK_FALSE(r.max_tokens);
  CHECK(r.add_generation_prompt);
  CHECK_FALSE(r.add_special_tokens);
  CHECK_FALSE(r.logprobs);
  CHECK(take(R"("max_tokens": 5)").max_tokens == 5);
  CHECK(take(R"("max_completion_tokens": 6)").max_tokens == 6);
  CHECK(take(R"("max_completion_tokens": 6, "max_tokens": 5)").max_tokens == 6);
  CHECK(take(R"("max_tokens": 5, "max_completion_tokens": 6)").max_tokens == 6);
  CHECK(refused(R"("max_completion_tokens": 0)").starts_with("max_completion_tokens | "));
  CHECK(refused(R"("max_tokens": "5")").starts_with("max_tokens | "));
  CHECK_FALSE(take(R"("add_generation_prompt": false)").add_generation_prompt);
}

TEST_CASE("logprobs of a chat is a flag, and top_logprobs a number that needs it") {
  const auto r = take(R"("logprobs": true, "top_logprobs": 20)");
  CHECK(r.logprobs);
  CHECK(r.top_logprobs == 20);
  CHECK_FALSE(take(R"("logprobs": false, "top_logprobs": 0)").logprobs);
  CHECK(refused(R"("logprobs": 1)").starts_with("logprobs | "));
  CHECK(refused(R"("logprobs": true, "top_logprobs": 21)").starts_with("top_logprobs | "));
  CHECK(refused(R"("top_logprobs": 1)") ==
        "top_logprobs | top_logprobs: needs logprobs; set logprobs to true");
}

TEST_CASE("a chat takes the fields that completions take") {
  const auto r = take(R"("temperature": 0, "seed": 1, "stop": "x", "n": 3, "stream": true, "user": "u",
    "logit_bias": {"5": 1}, "stream_options": {"include_usage": true}, "stop_token_ids": [1])");
  CHECK(r.sampling.temperature == 0);
  CHECK(r.seed == 1);
  CHECK(r.stop.size() == 1);
  CHECK(r.n == 3);
  CHECK(r.include_usage);
  CHECK(r.sampling.biases.size() == 1);
  CHECK(refused(R"("temperature": -1)").starts_with("temperature | "));
  CHECK(refused(R"("messages": [])").starts_with("messages | "));
}

TEST_CASE("messages keep the fields of templates, in their order") {
  CHECK(messages_of(R"([{"role": "system", "content": "s"}, {"content": "u", "role": "user", "name": "Zoë",
          "weight": 1, "more": {"a": [1]}}])") ==
        ordered_json::parse(
            R"([{"role": "system", "content": "s"}, {"content": "u", "role": "user", "name": "Zoë"}])"));
  CHECK(messages_of(R"([{"role": "user", "content": ""}])")[0]["content"] == "");
}

TEST_CASE("contents are texts, or parts that are texts") {
  CHECK(messages_of(R"([{"role": "user", "content": [{"type": "text", "text": "a"},
          {"text": "b\nc", "type": "text", "cache_control": {"type": "ephemeral"}}]}])")[0]["content"] ==
        ordered_json::parse(R"([{"type": "text", "text": "a"}, {"type": "text", "text": "b\nc"}])"));
  CHECK(messages_of(R"([{"role": "user", "content": []}])")[0]["content"] == ordered_json::array());
  CHECK(refused_messages(
            R"([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}])") ==
        "messages[0].content[0].type | messages[0].content[0].type: must be \"text\", it is \"image_url\"; "
        "models read text only");
  CHECK(blamed_message(R"([{"role": "user", "content": [{"type": "text"}]}])") ==
        "messages[0].content[0].text");
  CHECK(blamed_message(R"([{"role": "user", "content": [{"type": "text", "text": 1}]}])") ==
        "messages[0].content[0].text");
  CHECK(blamed_message(R"([{"role": "user", "content": ["a"]}])") == "messages[0].content[0]");
  CHECK(blamed_message(R"([{"role": "user", "content": [{"text": "a"}]}])") == "messages[0].content[0].type");
  CHECK(blamed_message(R"([{"role": "user", "content": 1}])") == "messages[0].content");
  CHECK(blamed_message(R"([{"role": "user", "content": {"type": "text", "text": "a"}}])") ==
        "messages[0].content");
}

TEST_CASE("tool calls in earlier messages get their arguments as objects") {
  const auto m = messages_of(R"([{"role": "user", "content": "?"},
    {"role": "assistant", "content": null, "tool_calls": [
      {"id": "a1", "type": "function", "function": {"name": "f", "arguments": "{\"x\": [1, 2.5, \"z\"]}"}},
      {"function": {"name": "g", "arguments": {"y": null}}},
      {"function": {"name": "h", "arguments": ""}}]},
    {"role": "tool", "tool_call_id": "a1", "content": "ok"}])");
  CHECK(m[1] == ordered_json::parse(R"({"role": "assistant", "tool_calls": [
      {"id": "a1", "type": "function", "function": {"name": "f", "arguments": {"x": [1, 2.5, "z"]}}},
      {"function": {"name": "g", "arguments": {"y": null}}}, {"function": {"name": "h", "arguments": {}}}],
      "content": ""})"));
  CHECK(m[2]["tool_call_id"] == "a1");
  const auto call = [](std::string_view c) {
    return blamed_message(R"([{"role": "assistant", "tool_calls": [)" + std::string(c) + "]}]");
  };
  const std::string at = "messages[0].tool_calls[0]";
  CHECK(call("1") == at);
  CHECK(call("{}") == at + ".function");
  CHECK(call(R"({"function": {"name": "f"}})") == at + ".function");
  for (const char* arguments :
       {"[]", "1", "\"[]\"", "\"nonsense\"", "\"{}x\"", "\"{\"", R"("{\"a\": 1e999}")", R"({"a": 1e999})"})
    CHECK(call(R"({"function": {"name": "f", "arguments": )" + std::string(arguments) + "}}") ==
          at + ".function.arguments");
  std::string deep;
  for (int i = 0; i < 10'000; ++i) deep += R"({\"a\":)";
  CHECK(call(R"({"function": {"name": "f", "arguments": ")" + deep + "\"}}") == at + ".function.arguments");
  CHECK(call(R"({"id": 1})") == at + ".id");
  CHECK(blamed_message(R"([{"role": "assistant", "tool_calls": []}])") == "messages[0].content");
}

TEST_CASE("a message without role or content is refused, as is a chat without messages") {
  CHECK(refused_messages("[]") == "messages | messages: must not be empty");
  CHECK(refused_messages("null") == "messages | messages: is missing");
  CHECK(refused_messages(R"("hello")") ==
        R"(messages | messages: must be a list of messages, it is "hello")");
  CHECK(blamed_message("[1]") == "messages[0]");
  CHECK(blamed_message("[null]") == "messages[0]");
  CHECK(blamed_message("[{}]") == "messages[0].role");
  CHECK(blamed_message(R"([{"role": "", "content": "x"}])") == "messages[0].role");
  CHECK(blamed_message(R"([{"role": 1, "content": "x"}])") == "messages[0].role");
  CHECK(blamed_message(R"([{"role": "user", "content": "x"}, {"role": "user"}])") == "messages[1].content");
  CHECK(blamed_message(R"([{"role": "user", "content": null}])") == "messages[0].content");
}

TEST_CASE("unsupported formats, tools and audio are refused, text is not") {
  take(R"("response_format": {"type": "text"}, "modalities": ["text"], "tools": [], "tool_choice": "none",
    "parallel_tool_calls": true, "response_format_": 1)");
  CHECK(refused(R"("response_format": {"type": "json_object"})") ==
        R"(response_format | response_format: only {"type": "text"} is supported, not "json_object")");
  CHECK(refused(R"("response_format": "json")").starts_with("response_format | "));
  CHECK(refused(R"("response_format": {"type": 1})").starts_with("response_format.type | "));
  CHECK(refused(R"("modalities": ["text", "audio"])").starts_with("modalities | "));
  CHECK(refused(R"("modalities": "audio")").starts_with("modalities | "));
  for (const char* field : {"tools", "functions", "audio", "chat_template", "suffix"})
    CHECK(refused("\"" + std::string(field) + R"(": [{"type": "function"}])") ==
          std::string(field) + " | " + field + ": is not supported; leave it out");
}

TEST_CASE("large or deeply nested messages are refused before they are parsed") {
  const std::string large(4 << 20, 'x');
  CHECK(blamed_message(R"([{"role": "user", "content": ")" + large + R"("}])") == "messages");
  const std::string deep(1'000'000, '[');
  CHECK(blamed_message(deep) == "messages");
  CHECK(blamed_message(R"([{"role": "user", "content": )" + deep) == "messages");
  CHECK(blamed_message(R"([{"role": "user", "x": )" + deep + std::string(1'000'000, ']') + "}]") ==
        "messages");
  const auto good = with("", R"([{"role": "user", "content": [{"type": "text", "text": "a"}]},
      {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]}])");
  for (size_t n = 0; n < good.size(); ++n) CHECK_FALSE(bool(parse_chat(good.substr(0, n))));
  CHECK(bool(parse_chat(good)));
}

}  // namespace
}  // namespace troupe::openai
