#include "gpu/checkpoint/json_object.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "tests/gpu/checkpoint/files.hpp"

using namespace troupe::llm;

namespace {

std::string parse_error(const std::string& text) {
  return error_of([&] { parse_object(text, "f.json"); });
}

}  // namespace

TEST_CASE("a configuration is a JSON object of a sane size") {
  CHECK(parse_error("{}") == "no error");
  CHECK(parse_error("{\"a\": 1") == "f.json: is not JSON from byte 8 on");
  CHECK(parse_error("") == "f.json: is not JSON from byte 1 on");
  CHECK(parse_error("[1]") == "f.json: is not a JSON object");
  CHECK(parse_error("{\"a\": 1e999}") == "f.json: holds a number that is too large");
  CHECK(parse_error(std::string((4 << 20) + 1, ' ')) ==
        "f.json: has 4194305 bytes, more than the 4194304 of a configuration");

  std::string many = "{\"0\": 0";
  for (int i = 1; i < 8192; ++i) many += ", \"" + std::to_string(i) + "\": 0";
  CHECK(parse_error(many + "}") == "no error");
  const std::string limits =
      "f.json: is not a configuration: it has more than 8192 keys or is nested deeper than 32";
  CHECK(parse_error(many + ", \"x\": 0}") == limits);
  CHECK(parse_error("{\"a\": " + std::string(1'000'000, '[') + std::string(1'000'000, ']') + "}") == limits);
}

TEST_CASE("values are checked against their limits, and null counts as absent") {
  const std::string file = "f.json";
  const auto document = parse_object(
      R"({"n": 3, "x": 0.5, "s": "text", "b": true, "o": {"k": 7}, "null": null, "minus": -1})", file);
  const json_object o(document, file);
  CHECK(o.integer("n", 1, 3) == 3);
  CHECK(o.integer("null", 1, 3, 2) == 2);
  CHECK(o.number("x", 0, 1) == 0.5);
  CHECK(o.number("n", 0, 3) == 3);
  CHECK(o.number("gone", 0, 1, 0.25) == 0.25);
  CHECK(o.text("s") == "text");
  CHECK(o.text("gone", "other") == "other");
  CHECK(o.flag("b", false));
  CHECK(o.flag("null", true));
  CHECK(o.object("o")->integer("k", 0, 9) == 7);
  CHECK(!o.object("gone"));
  CHECK(o.mentions("null"));
  CHECK(o.lacks("null"));

  const auto refused = [&](const auto& read) { return error_of([&] { read(); }); };
  CHECK(refused([&] { o.integer("n", 4, 9); }) == "f.json: 'n' is 3: it must be an integer from 4 to 9");
  CHECK(refused([&] { o.integer("x", 0, 9); }) == "f.json: 'x' is 0.5: it must be an integer from 0 to 9");
  CHECK(refused([&] { o.integer("minus", 0, 9); }) ==
        "f.json: 'minus' is -1: it must be an integer from 0 to 9");
  CHECK(refused([&] { o.integer("gone", 0, 9); }) == "f.json: 'gone' is missing");
  CHECK(refused([&] { o.number("s", 0, 1); }) == "f.json: 's' is \"text\": it must be a number from 0 to 1");
  CHECK(refused([&] { o.flag("n", false); }) == "f.json: 'n' is 3: it must be true or false");
  CHECK(refused([&] { o.text("o"); }) == "f.json: 'o' is an object: it must be a string");
  CHECK(refused([&] { o.object("b"); }) == "f.json: 'b' is true: it must be an object");
  CHECK(refused([&] { o.object("o")->integer("k", 0, 6); }) ==
        "f.json: 'o.k' is 7: it must be an integer from 0 to 6");
}

TEST_CASE("a message shows keys and values without control characters and with a bounded length") {
  const std::string file = "f.json";
  const auto document = parse_object(R"({"a\u0000\nb": 1, "s": ")" + std::string(5000, 'x') + "\"}", file);
  const json_object o(document, file);
  CHECK(error_of([&] { o.fail(document.begin().key(), "is odd"); }) == "f.json: 'a??b' is odd");
  CHECK(error_of([&] { o.integer("s", 0, 1); }).size() < 150);
  CHECK(error_of([&] { o.fail(std::string(5000, 'k'), "is odd"); }).size() < 150);
}
