#include <doctest/doctest.h>

#include <string>

#include "tests/transport/openai/refusal.hpp"
#include "transport/openai/base_request.hpp"

namespace troupe::openai {
namespace {

using nlohmann::ordered_json;

result<chat_request> parse_with(const std::string& fields) {
  return parse_chat(R"({"model": "m", "messages": [{"role": "user", "content": "x"}])" + fields + "}");
}
ordered_json taken_variables(const std::string& kwargs) {
  auto r = parse_with(R"(, "chat_template_kwargs": )" + kwargs);
  REQUIRE_MESSAGE(r, refusal(r));
  return r->template_variables;
}
std::string refused_variables(const std::string& kwargs) {
  return refusal(parse_with(R"(, "chat_template_kwargs": )" + kwargs));
}

TEST_CASE("a chat gives variables to the template") {
  CHECK(parse_with("")->template_variables == ordered_json::object());
  CHECK(taken_variables("null") == ordered_json::object());
  CHECK(taken_variables(R"({"enable_thinking": false, "x": {"y": [1, null, "z"]}})") ==
        ordered_json::parse(R"({"enable_thinking": false, "x": {"y": [1, null, "z"]}})"));
}

TEST_CASE("variables that the server sets are refused by name") {
  for (const std::string name :
       {"messages", "add_generation_prompt", "tools", "documents", "bos_token", "eos_token", "image_token",
        "strftime_now", "raise_exception", "chat_template"})
    CHECK(refused_variables(R"({"a": 1, ")" + name + R"(": 2})") ==
          "chat_template_kwargs | chat_template_kwargs: must not set \"" + name +
              "\", which the server gives to the template; leave it out");
}

TEST_CASE("variables are an object of bounded size") {
  CHECK(refused_variables("[1]") ==
        "chat_template_kwargs | chat_template_kwargs: must be an object of variables for the chat template, "
        "it is "
        "[1]");
  CHECK(refused_variables(R"({"a": [9223372036854775808]})").ends_with("has a number that is too large"));
  CHECK(taken_variables(R"({"a": 9223372036854775807})").at("a") == INT64_MAX);
  CHECK(refused_variables(R"({"a": 1e999})").starts_with("chat_template_kwargs | "));
  CHECK(refused_variables(R"({"a": ")" + std::string(1 << 16, 'x') + "\"}")
            .ends_with("at most 65536 are allowed"));
}

}  // namespace
}  // namespace troupe::openai
