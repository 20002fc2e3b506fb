#include "messages/common/parse_json.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace troupe;

TEST_CASE("data nested deeper than any message is discarded, complete or not") {
  const auto nested = [](int levels, const std::string& open, const std::string& close) {
    std::string text;
    for (int i = 0; i < levels; ++i) text += open;
    text += "1";
    for (int i = 0; i < levels; ++i) text += close;
    return parse_json(text);
  };
  CHECK(nested(32, "[", "]") == nlohmann::json::parse(nested(32, "[", "]").dump()));
  CHECK(nested(32, R"({"a":)", "}").is_object());
  CHECK(nested(33, "[", "]").is_discarded());
  CHECK(nested(33, R"({"a":)", "}").is_discarded());
  CHECK(nested(1'000'000, "[", "]").is_discarded());
  CHECK(nested(1'000'000, R"({"a":[)", "").is_discarded());
  CHECK(parse_json("[1, 2").is_discarded());
  CHECK(parse_json(R"([1, {"a": [true, null]}, "x"])") ==
        nlohmann::json::parse(R"([1,{"a":[true,null]},"x"])"));
}
