#include "transport/kserve/repository.hpp"

#include <doctest/doctest.h>

namespace troupe {
namespace {

std::string why(std::string_view body) {
  const auto asked = parse_repository_load(body);
  return asked ? "" : std::to_string(asked.error().status) + " " + asked.error().message;
}

TEST_CASE("a load has no parameters, or a definition as text") {
  CHECK_FALSE(parse_repository_load("")->config);
  CHECK_FALSE(parse_repository_load("{}")->config);
  CHECK_FALSE(parse_repository_load(R"({"parameters": {}, "more": 1})")->config);
  CHECK(parse_repository_load(R"({"parameters": {"config": "{}"}})")->config == "{}");
  CHECK(why("nonsense").starts_with("400 the body is not a JSON object"));
  CHECK(why("[]").starts_with("400 the body is not a JSON object"));
  CHECK(why(R"({"parameters": 1})") == "400 parameters: must be an object");
  CHECK(why(R"({"parameters": {"config": {}}})") == "400 parameters.config: must be a string with JSON");
  CHECK(why(R"({"parameters": {"file:1/m.onnx": "x"}})").starts_with("400 parameters.file:1/m.onnx: only"));
}

TEST_CASE("a large or deeply nested load is refused before it is parsed") {
  const std::string deep(30'000, '[');
  CHECK(why(R"({"parameters": )" + deep + "}").starts_with("400 the body is not a JSON object"));
  CHECK(why(R"({"parameters": )" + deep + std::string(30'000, ']') + "}")
            .starts_with("400 the body is not a JSON object"));
  CHECK(
      why(R"({"parameters": )" + std::string(8'000'000, '[')).starts_with("413 the body has 8000015 bytes"));
  CHECK(why("{}" + std::string(65'534, ' ')).empty());
  CHECK(why("{}" + std::string(65'535, ' ')).starts_with("413"));
}

TEST_CASE("an index lists all models, or only those that are ready") {
  CHECK_FALSE(*parse_repository_index(""));
  CHECK_FALSE(*parse_repository_index(R"({"ready": false})"));
  CHECK(*parse_repository_index(R"({"ready": true})"));
  for (const std::string body : {R"({"ready": 1})", "[]", "x", R"({"ready": [[]]})"})
    CHECK(parse_repository_index(body).error().status == 400);
  CHECK(parse_repository_index("{}" + std::string(5000, ' ')).error().status == 400);
}

}  // namespace
}  // namespace troupe
