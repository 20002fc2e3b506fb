#include "policies/llm/stop_strings.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>

#include "policies/common/random.hpp"

using namespace troupe;

namespace {

/// The text up to the first complete stop string, by naive search.
std::pair<std::string, bool> plain(const std::string& text, const std::vector<std::string>& stops,
                                   bool include) {
  for (size_t end = 1; end <= text.size(); ++end) {
    size_t longest = 0;
    for (const auto& stop : stops)
      if (!stop.empty() && std::string_view(text).substr(0, end).ends_with(stop))
        longest = std::max(longest, stop.size());
    if (longest > 0) return {text.substr(0, include ? end : end - longest), true};
  }
  return {text, false};
}

/// Length of the longest suffix of `text` that a stop string begins with.
size_t may_begin(const std::string& text, const std::vector<std::string>& stops) {
  size_t max = 0;
  for (const auto& stop : stops)
    for (size_t n = 1; n < stop.size() && n <= text.size(); ++n)
      if (text.ends_with(stop.substr(0, n))) max = std::max(max, n);
  return max;
}

std::string draw_text(random_stream& random, size_t longest, unsigned letters) {
  std::string text(random.below(longest + 1), 'a');
  for (auto& c : text) c = static_cast<char>('a' + random.below(letters));
  return text;
}

}  // namespace

TEST_CASE("without stop strings everything is shown at once") {
  stop_strings s;
  CHECK(s.add("abc") == "abc");
  CHECK(s.add("") == "");
  CHECK(s.finish() == "");
  CHECK_FALSE(s.found());
  stop_strings empty({""});
  CHECK(empty.add("abc") == "abc");
}

TEST_CASE("a text ends before its stop string, for any split into pieces") {
  stop_strings s({"END"});
  CHECK(s.add("one E") == "one ");
  CHECK(s.add("N") == "");
  CHECK(s.add("EN") == "EN");
  CHECK_FALSE(s.found());
  CHECK(s.add("D more") == "");
  CHECK(s.found());
  CHECK(s.add("more") == "");
  CHECK(s.finish() == "");
}

TEST_CASE("a text may end with the beginning of a stop string") {
  stop_strings s({"\n\n", "\nUser:"});
  CHECK(s.add("hi\n") == "hi");
  CHECK(s.add("Us") == "");
  CHECK(s.finish() == "\nUs");
  CHECK_FALSE(s.found());
}

TEST_CASE("the stop string is part of the text on request") {
  stop_strings s({"END"}, true);
  CHECK(s.add("one E") == "one ");
  CHECK(s.add("ND more") == "END");
  CHECK(s.found());
}

TEST_CASE("the first stop string to be complete ends the text, of several the longest") {
  stop_strings inner({"bc", "abcd"});
  CHECK(inner.add("xabcd") == "xa");
  stop_strings suffix({"c", "bc", "abc"});
  CHECK(suffix.add("xabc") == "x");
  stop_strings again({"aab"});
  CHECK(again.add("aaaab") == "aa");
}

TEST_CASE("characters are never halved") {
  stop_strings s({"é!"});    // C3 A9 21
  CHECK(s.add("è") == "è");  // C3 A8
  CHECK(s.add("é") == "");
  CHECK(s.add("è") == "éè");
}

TEST_CASE("random texts give the result of a plain search, and hold back as little as possible") {
  size_t found = 0;
  for (uint64_t run = 0; run < 20'000; ++run) {
    random_stream random(7, "stop strings", run);
    const auto letters = static_cast<unsigned>(1 + random.below(4));
    const auto text = draw_text(random, 40, letters);
    std::vector<std::string> stops(random.below(5));
    for (auto& stop : stops) stop = draw_text(random, 8, letters);
    const bool include = random.below(2) == 0;
    const auto [expected, stopped] = plain(text, stops, include);

    stop_strings s(stops, include);
    std::string shown;
    for (size_t at = 0; at < text.size();) {
      const auto size = std::min<size_t>(random.below(6), text.size() - at);
      shown += s.add(text.substr(at, size));
      at += size;
      if (s.found()) break;
      const auto sofar = text.substr(0, at);
      REQUIRE(shown == sofar.substr(0, at - may_begin(sofar, stops)));
    }
    shown += s.finish();
    CAPTURE(text);
    CAPTURE(run);
    REQUIRE(s.found() == stopped);
    REQUIRE(shown == expected);
    found += stopped;
  }
  CHECK(found > 2000);
  CHECK(found < 18'000);
}

TEST_CASE("a long text full of beginnings is searched in one pass") {
  const std::string stop = std::string(1000, 'a') + "b";
  stop_strings s({stop, std::string(900, 'a') + "c"});
  const std::string as(1'000'000, 'a');
  CHECK(s.add(as).size() == as.size() - 1000);
  CHECK(s.add("b") == "");
  CHECK(s.found());
}
