#include "tools/commands/command_line.hpp"

#include <doctest/doctest.h>

using namespace troupe;

namespace {

std::string said(const CLI::Validator& check, std::string text) { return check(text); }

}  // namespace

TEST_CASE("command_line: a number is finite, in its range, and all of the text") {
  const auto rate = finite_in(0.001, 1e9);
  for (const auto* text : {"0.001", "1000000000", "1e9", "2.5", ".5"}) CHECK(said(rate, text) == "");
  for (const std::string text :
       {"nan", "-nan", "inf", "-inf", "0", "-1", "1.1e9", "1e999", "5x", "x", "", "0x10"})
    CHECK(said(rate, text) == "must be a number in 0.001..1000000000, not " + text);
  CHECK(said(finite_in(-5, 5), "-5") == "");
}

TEST_CASE("command_line: a whole number has no sign") {
  const auto seed = whole_in(0, INT64_MAX);
  for (const auto* text : {"0", "7", "9223372036854775807"}) CHECK(said(seed, text) == "");
  for (const std::string text : {"-1", "+1", "1.5", "9223372036854775808", "nan", ""})
    CHECK(said(seed, text) == "must be a whole number in 0..9223372036854775807, not " + text);
  CHECK(said(whole_in(1, 65536), "0") != "");
}
