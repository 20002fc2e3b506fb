#include "transport/openai/embedding.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

using namespace troupe;
using namespace troupe::openai;
using nlohmann::json;

namespace {

std::string refused_embedding(std::string_view body) {
  const auto r = parse_embedding(body);
  return r ? "accepted" : r.error().param + " | " + r.error().message;
}

}  // namespace

TEST_CASE("embeddings: an input is a text, its tokens, or a list of either") {
  const auto text = parse_embedding(R"({"model": "m", "input": "a"})");
  REQUIRE(text);
  CHECK(text->model == "m");
  CHECK(text->inputs == std::vector<prompt>{"a"});
  CHECK_FALSE(text->base64);
  CHECK(parse_embedding(R"({"input": ["a", "b"]})")->inputs == std::vector<prompt>{"a", "b"});
  CHECK(parse_embedding(R"({"input": [3, 4]})")->inputs ==
        std::vector<prompt>{std::vector<llm::token>{3, 4}});
  CHECK(parse_embedding(R"({"input": [[3], [4]]})")->inputs.size() == 2);
  const auto all = parse_embedding(
      R"({"input": "a", "encoding_format": "base64", "dimensions": 8, "truncate_prompt_tokens": -1, "user": "u"})");
  REQUIRE(all);
  CHECK(all->base64);
  CHECK(all->dimensions == 8);
  CHECK(all->truncate_tokens == -1);
}

TEST_CASE("embeddings: refusals name the field") {
  CHECK(refused_embedding("{}") == "input | input: is missing");
  CHECK(refused_embedding(R"({"input": []})") == "input | input: must not be empty");
  CHECK(refused_embedding(R"({"input": [[]]})") == "input[0] | input[0]: has no tokens");
  CHECK(refused_embedding(R"({"input": "a", "encoding_format": "hex"})") ==
        R"(encoding_format | encoding_format: must be float or base64, not "hex")");
  CHECK(refused_embedding(R"({"input": "a", "truncate_prompt_tokens": 0})") ==
        "truncate_prompt_tokens | truncate_prompt_tokens: must be -1 or more than 0");
  std::string many = R"({"input": ["a")";
  for (int i = 0; i < 2048; ++i) many += R"(,"a")";
  CHECK(refused_embedding(many + "]}") == "input | input: has more than 2048 inputs");
}

TEST_CASE("embeddings: answers have numbers that read back, or their bytes in base64") {
  const std::vector<std::vector<float>> two{{0.1F, -2}, {1e-20F, 3}};
  const auto plain = json::parse(format_embeddings(two, "7", "m \"x\"", false, 5));
  CHECK(plain["id"] == "embd-7");
  CHECK(plain["object"] == "list");
  CHECK(plain["model"] == "m \"x\"");
  CHECK(plain["usage"] == json{{"prompt_tokens", 5}, {"total_tokens", 5}});
  CHECK(plain["data"][1]["index"] == 1);
  CHECK(plain["data"][0]["object"] == "embedding");
  CHECK(plain["data"][0]["embedding"][0].get<float>() == 0.1F);
  CHECK(plain["data"][1]["embedding"][0].get<float>() == 1e-20F);
  const std::vector<std::vector<float>> one{{1, -2}};
  CHECK(json::parse(format_embeddings(one, "7", "m", true, 5))["data"][0]["embedding"] == "AACAPwAAAMA=");
}
