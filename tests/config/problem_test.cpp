#include "config/problem.hpp"

#include <doctest/doctest.h>

#include <array>

using namespace troupe;

TEST_CASE("a problem prints its place first") {
  CHECK(to_string(problem{{"a.toml", 12, 9}, "x: is wrong"}) == "a.toml:12:9: x: is wrong");
  CHECK(to_string(problem{{"a.toml"}, "cannot be read"}) == "a.toml: cannot be read");
}

TEST_CASE("a problem is one line, whatever names it has") {
  CHECK(to_string(problem{{"a\n.toml", 1, 2}, "the key 'x\ty\x7f' is unknown"}) ==
        "a .toml:1:2: the key 'x y ' is unknown");
  CHECK(one_line("Grüße, 你好") == "Grüße, 你好");
}

TEST_CASE("the nearest name has the smallest edit distance, or only lacks an ending") {
  constexpr std::array<std::string_view, 4> known{"name", "slo_ms", "source", "max_batch"};
  CHECK(nearest("slo", known) == "slo_ms");
  CHECK(nearest("sorce", known) == "source");
  CHECK(nearest("maxbatch", known) == "max_batch");
  CHECK(nearest("max_batch_size", known) == "max_batch");
  CHECK(nearest("colour", known) == "");
  CHECK(nearest("", known) == "");
  CHECK(nearest(std::string(100'000, 'a'), known) == "");
}

TEST_CASE("a hint lists what is known when nothing is near") {
  constexpr std::array<std::string_view, 2> known{"cpu", "emulated"};
  CHECK(hint("cpus", known) == "; did you mean 'cpu'?");
  CHECK(hint("tpu_v4", known) == "; known: cpu, emulated");
  CHECK(hint("cpu", {}) == "");
}

TEST_CASE("quoted text shows invisible characters") {
  CHECK(in_quotes("a \"b\"\\\n\t\x01") == "\"a \\\"b\\\"\\\\\\n\\t\\u0001\"");
}
