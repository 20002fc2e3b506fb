#include "transport/openai/json_append.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "transport/http/message.hpp"

namespace troupe::openai {
namespace {

std::string as_json(std::string_view text) {
  std::string out;
  append_quoted(out, text);
  return out;
}

std::string logprob(float value) {
  std::string out;
  append_logprob(out, value);
  return out;
}

TEST_CASE("every byte, and every pair of bytes, is quoted as the JSON library quotes it") {
  for (int a = 0; a < 256; ++a) {
    std::string text(1, static_cast<char>(a));
    REQUIRE(as_json(text) == json_quote(text));
    for (int b = 0; b < 256; ++b)
      REQUIRE(as_json(text + static_cast<char>(b)) == json_quote(text + static_cast<char>(b)));
  }
}

TEST_CASE("random bytes, whole characters and pieces of them are quoted as the JSON library quotes them") {
  constexpr std::string_view pieces[] = {
      "é",  "日本", "😀",        "\xE6\x97", "\xF0\x9F\x98", "\xED\xA0\x80", "a",    "\"",        "\\",
      "\n", "\x01", "\xC0\x80", "\x7f",     "\xF4\x90",     "\xE2\x80\xA8", "\x80", "plain text"};
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (auto n = random() % 12; n > 0; --n)
      if (random() % 3 == 0)
        text += static_cast<char>(random());
      else
        text += pieces[random() % std::size(pieces)];
    const auto q = as_json(text);
    REQUIRE(q == json_quote(text));
    REQUIRE(nlohmann::json::accept(q));
  }
}

TEST_CASE("log-probabilities read back unchanged, and negative infinity and NaN are -9999") {
  for (const float value : {-0.5f, -1e-5f, 0.0f, -0.0f, -12.345678f, -9998.5f, -1e-45f, -0.1f}) {
    CHECK(nlohmann::json::accept(logprob(value)));
    CHECK(nlohmann::json::parse(logprob(value)).get<float>() == value);
  }
  constexpr float infinity = std::numeric_limits<float>::infinity();
  CHECK(logprob(-infinity) == "-9999");
  CHECK(logprob(-1e30f) == "-9999");
  CHECK(logprob(std::numeric_limits<float>::quiet_NaN()) == "-9999");
  CHECK(logprob(infinity) == "0");
}

TEST_CASE("text offsets count characters") {
  CHECK(character_count("") == 0);
  CHECK(character_count("abc") == 3);
  CHECK(character_count("é日😀") == 3);
}

}  // namespace
}  // namespace troupe::openai
