#include "gpu/checkpoint/module_patterns.hpp"

#include <doctest/doctest.h>

#include "tests/gpu/checkpoint/files.hpp"

using namespace troupe::llm;

namespace {

module_patterns read_patterns(const ordered_json& patterns) {
  const std::string file = "f";
  const auto as_read = parse_object(patterns.dump(), file);
  return {json_object(as_read, file, "rank_pattern."), 1, 256, true};
}

bool key_matches(const char* key, std::string_view module) {
  return read_patterns({{key, 7}}).find(module).has_value();
}

std::string refused_key(const std::string& key, const ordered_json& value = 7) {
  return error_of([&] { read_patterns({{key, value}}); });
}

}  // namespace

TEST_CASE("a key matches the end of a module's name, after a dot") {
  CHECK(key_matches("q_proj", q3));
  CHECK(key_matches("self_attn.q_proj", q3));
  CHECK(key_matches("layers.3.self_attn.q_proj", q3));
  CHECK(key_matches("model.layers.3.self_attn.q_proj", q3));
  CHECK(!key_matches("_proj", q3));
  CHECK(!key_matches("self_attn", q3));
  CHECK(!key_matches("q_proj", "q_projx"));
  CHECK(!key_matches("base.model.layers.3.self_attn.q_proj", q3));
  CHECK(!key_matches("layers.3.self_attn.q_proj", "model.layers.13.self_attn.q_proj"));
}

TEST_CASE("a key is a regular expression for a whole name, or for its end after a dot") {
  CHECK(key_matches(".*q_proj", q3));
  CHECK(key_matches(R"(layers\.(3|4)\..*_proj)", q3));
  CHECK(!key_matches(R"(layers\.(5|4)\..*_proj)", q3));
  CHECK(key_matches(R"(^model\.layers\.\d+\.self_attn\.(?:q|k)_proj$)", q3));
  CHECK(key_matches("[kq]_proj", q3));
  CHECK(key_matches("v_proj|q_proj", q3));
  CHECK(!key_matches("v_proj|o_proj", q3));
  CHECK(!key_matches("[kv]_proj", q3));
  CHECK(!key_matches("_pro.", q3));
  CHECK(!key_matches("self_attn.*k", q3));
}

TEST_CASE("keys may be anchored names with escapes, and a thousand keys are accepted") {
  CHECK(key_matches("^model.layers.3.self_attn.q_proj", q3));
  CHECK(key_matches(R"(^model\.layers\.3\.self_attn\.q_proj$)", q3));
  CHECK(key_matches(R"(self_attn\.q_proj$)", q3));
  CHECK(!key_matches("^q_proj", q3));
  CHECK(!key_matches("^layers.3.self_attn.q_proj$", q3));
  CHECK(!key_matches(R"(self_attn\.v_proj)", q3));
  ordered_json many;
  for (int i = 0; i < 1000; ++i)
    many["^model\\.layers\\." + std::to_string(i) + "\\.self_attn\\.q_proj"] = i % 256 + 1;
  CHECK(read_patterns(many).find(q3) == 4);
}

TEST_CASE("the first matching key of the file is used") {
  CHECK(read_patterns({{"z", 1}, {"q_proj", 2}, {"self_attn.q_proj", 3}}).find(q3) == 2);
  CHECK(read_patterns({{".*_proj", 4}, {"q_proj", 2}}).find(q3) == 4);
  CHECK(!read_patterns({{"z", 1}}).find(q3));
  CHECK(!module_patterns().find(q3));
}

TEST_CASE("values out of range are refused with their key") {
  CHECK(refused_key("q_proj", 0) == "f: 'rank_pattern.q_proj' is 0: it must be an integer from 1 to 256");
  CHECK(refused_key("q_proj", 257) == "f: 'rank_pattern.q_proj' is 257: it must be an integer from 1 to 256");
  CHECK(refused_key("q_proj", 1.5) == "f: 'rank_pattern.q_proj' is 1.5: it must be an integer from 1 to 256");
  CHECK(refused_key("q_proj", "8") ==
        "f: 'rank_pattern.q_proj' is \"8\": it must be an integer from 1 to 256");
}

TEST_CASE("invalid expressions are refused") {
  for (const std::string key : {"(q", "q)", "[q", "*q", "q\\", "(?P<n>q)(?P<n>q)"}) {
    CAPTURE(key);
    const auto said = refused_key(key);
    CHECK(said.starts_with("f: 'rank_pattern." + key + "' is not a supported regular expression ("));
    CHECK(said.ends_with("): use module names"));
  }
  CHECK(refused_key("(q").find("missing closing parenthesis") != std::string::npos);
}

TEST_CASE("expressions that are too long are refused") {
  const std::string costly =
      "is too long: use module names, or expressions of at most 256 bytes, 1024 together";
  CHECK(refused_key(std::string(257, '(')).ends_with(costly));
  ordered_json many;
  for (int i = 0; i < 20; ++i) many[std::string(60, '.') + "*" + std::to_string(i)] = 1;
  CHECK(error_of([&] { read_patterns(many); }).ends_with(costly));
}

TEST_CASE("an expression with unbounded backtracking is an error that names it") {
  const std::string module = "model.layers.3.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
  for (const std::string key :
       {"(((a*)*)*)*b|((.*)*)*x", ".*.*.*.*.*.*.*.*.*.*.*.*.*.*[xy]", "(?:a|aa)+[bc]"}) {
    CAPTURE(key);
    CHECK(error_of([&] { key_matches(key.c_str(), module); }) ==
          "f: 'rank_pattern." + key + "' takes too long to match '" + module +
              "' (match limit exceeded): use module names");
  }
  CHECK(!key_matches("(a{1000}){1000}", module));
  CHECK(!key_matches((std::string(120, '(') + "a" + std::string(120, ')')).c_str(), q3));
}
