#include "gpu/tokenizer/word_memory.hpp"

#include <doctest/doctest.h>

#include <string>

#include "policies/common/random.hpp"

using namespace troupe;
using namespace troupe::llm;

TEST_CASE("a word is encoded once, and its tokens are repeated") {
  word_memory memory(1000);
  std::vector<token> out;
  int encoded = 0;
  const auto add = [&](std::string_view word, std::vector<token> tokens) {
    memory.append(word, out, [&] {
      ++encoded;
      out.insert(out.end(), tokens.begin(), tokens.end());
    });
  };
  add("ab", {1, 2});
  add("ab", {7});
  add("nothing", {});
  add("nothing", {7});
  CHECK(encoded == 2);
  CHECK(out == std::vector<token>{1, 2, 1, 2});
  add(std::string("ab\0", 3), {3});
  CHECK(out.back() == 3);
  const std::string longest(23, 'x');
  add(longest, {4});
  add(longest, {7});
  CHECK(encoded == 4);
  add(longest + "x", {5});  // longer words are not kept
  add(longest + "x", {6});
  CHECK(out.back() == 6);
}

TEST_CASE("words that share a place are told apart") {
  word_memory memory(0);  // few places
  std::vector<token> out;
  random_stream random(1, "words", 0);
  for (int i = 0; i < 20000; ++i) {
    const auto id = static_cast<token>(random.below(500));
    memory.append(std::to_string(id), out, [&] { out.push_back(id); });
    REQUIRE(out.back() == id);
    REQUIRE(out.size() == static_cast<size_t>(i) + 1);
  }
}
