#include "transport/openai/rerank.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

using namespace troupe;
using namespace troupe::openai;
using nlohmann::json;

namespace {

std::string refused_rerank(std::string_view body) {
  const auto r = parse_rerank(body);
  return r ? "accepted" : r.error().param + " | " + r.error().message;
}

}  // namespace

TEST_CASE("rerank: documents are texts, or objects with a text") {
  const auto r = parse_rerank(
      R"({"model": "m", "query": "q", "documents": ["a", {"title": "t", "text": "b"}], "top_n": 1, "return_documents": false})");
  REQUIRE(r);
  CHECK(r->documents == std::vector<std::string>{"a", "b"});
  CHECK(r->top_n == 1);
  CHECK_FALSE(r->return_documents);
  CHECK(refused_rerank(R"({"documents": ["a"]})") == "query | query: is missing");
  CHECK(refused_rerank(R"({"query": "q"})") == "documents | documents: is missing");
  CHECK(refused_rerank(R"({"query": "q", "documents": []})") == "documents | documents: must not be empty");
  CHECK(refused_rerank(R"({"query": "q", "documents": [{"title": "t"}]})") ==
        "documents[0] | documents[0]: has no text");
  CHECK(refused_rerank(R"({"query": "q", "documents": [3]})") ==
        "documents[0] | documents[0]: must be a string, or an object with a text, it is 3");
}

TEST_CASE("rerank: the best documents come first, equal ones in their order") {
  rerank_request asked;
  asked.documents = {"a", "b", "c", "d"};
  const std::vector<float> scores{0.5F, 0.25F, 0.75F, 0.5F};
  auto answer = json::parse(format_rerank(asked, scores, "7", "m", 9));
  std::vector<int> order;
  for (const auto& r : answer["results"]) order.push_back(r["index"]);
  CHECK(order == std::vector<int>{2, 0, 3, 1});
  CHECK(answer["results"][0] == json{{"index", 2}, {"document", {{"text", "c"}}}, {"relevance_score", 0.75}});
  CHECK(answer["usage"]["total_tokens"] == 9);
  asked.top_n = 2;
  asked.return_documents = false;
  answer = json::parse(format_rerank(asked, scores, "7", "m", 9));
  REQUIRE(answer["results"].size() == 2);
  CHECK_FALSE(answer["results"][0].contains("document"));
}
