#include "transport/openai/tokenize.hpp"

#include <doctest/doctest.h>

#include "tests/transport/openai/refusal.hpp"

namespace troupe::openai {
namespace {

using nlohmann::json;

tokenize_request take_tokenize(std::string_view body) {
  auto r = parse_tokenize(body);
  REQUIRE_MESSAGE(r, refusal(r));
  return *r;
}

TEST_CASE("a request to tokenize has a text or a chat") {
  const auto text = take_tokenize(R"({"prompt": "hello", "return_token_strs": true})");
  CHECK(text.prompt == "hello");
  CHECK(text.model.empty());
  CHECK(text.add_special_tokens);
  CHECK(text.return_token_strs);
  const auto chat =
      take_tokenize(R"({"model": "m", "messages": [{"role": "user", "content": "x"}], "prompt": null})");
  CHECK(chat.model == "m");
  CHECK_FALSE(chat.prompt);
  CHECK(chat.messages.size() == 1);
  CHECK_FALSE(chat.add_special_tokens);
  CHECK(chat.add_generation_prompt);
  CHECK_FALSE(take_tokenize(R"({"prompt": "", "add_special_tokens": false})").add_special_tokens);
  CHECK(take_tokenize(R"({"add_special_tokens": true, "messages": [{"role": "user", "content": "x"}],
                 "add_generation_prompt": false})")
            .add_special_tokens);
  CHECK(take_tokenize(R"({"messages": [{"role": "user", "content": "x"}], "chat_template_kwargs": {"a": 1}})")
            .template_variables["a"] == 1);
}

TEST_CASE("invalid input of tokenize is refused with its field") {
  CHECK(blamed(parse_tokenize("{}")) == "prompt");
  CHECK(blamed(parse_tokenize(R"({"prompt": "a", "messages": [{"role": "user", "content": "x"}]})")) ==
        "prompt");
  CHECK(blamed(parse_tokenize(R"({"prompt": ["a"]})")) == "prompt");
  CHECK(blamed(parse_tokenize(R"({"prompt": "a", "model": 1})")) == "model");
  CHECK(blamed(parse_tokenize(R"({"prompt": "a", "add_special_tokens": 1})")) == "add_special_tokens");
  CHECK(blamed(parse_tokenize(R"({"messages": [{}]})")) == "messages[0].role");
  CHECK(blamed(parse_tokenize(R"({"messages": [], "tools": [1]})")) == "messages");
  CHECK(blamed(parse_tokenize(R"({"prompt": "a", "tools": [1]})")) == "tools");
  CHECK(blamed(parse_tokenize(R"({"prompt": "a", "chat_template_kwargs": {"tools": []}})")) ==
        "chat_template_kwargs");
}

TEST_CASE("tokens are returned with their count, and with their names on request") {
  const llm::token tokens[] = {1, 15043};
  const std::string names[] = {"<s>", "▁\"\xff"};
  CHECK(json::parse(format_tokenize(tokens, {}, 128)) ==
        json::parse(R"({"count": 2, "max_model_len": 128, "tokens": [1, 15043], "token_strs": null})"));
  CHECK(json::parse(format_tokenize(tokens, names, 128))["token_strs"] == json::parse(R"(["<s>", "▁\"�"])"));
  CHECK(json::parse(format_tokenize({}, {}, 0))["tokens"] == json::array());
}

TEST_CASE("a request to detokenize has tokens, and its answer the text") {
  const auto r = parse_detokenize(R"({"model": "m", "tokens": [1, 2.0, 3]})");
  REQUIRE(r);
  CHECK(r->model == "m");
  CHECK(r->tokens == std::vector<llm::token>{1, 2, 3});
  CHECK(parse_detokenize(R"({"tokens": []})")->tokens.empty());
  CHECK(blamed(parse_detokenize("{}")) == "tokens");
  CHECK(blamed(parse_detokenize(R"({"tokens": [1, -1]})")) == "tokens[1]");
  CHECK(blamed(parse_detokenize(R"({"tokens": "1"})")) == "tokens");
  CHECK(json::parse(format_detokenize("a\"é")) == json::parse(R"({"prompt": "a\"é"})"));
}

}  // namespace
}  // namespace troupe::openai
