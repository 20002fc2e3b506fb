#include "gpu/tokenizer/piece_trie.hpp"

#include <doctest/doctest.h>

#include <map>
#include <string>

#include "policies/common/random.hpp"

using namespace troupe;
using namespace troupe::llm;

TEST_CASE("all pieces that are prefixes of a text are found, the shortest first") {
  for (uint64_t run = 0; run < 60; ++run) {
    CAPTURE(run);
    random_stream random(1, "trie", run);
    const auto any = [&](size_t max) {
      std::string s(1 + random.below(max), ' ');
      const auto letters = run % 3 == 0 ? 2 : run % 3 == 1 ? 30 : 256;
      for (auto& c : s)
        c = static_cast<char>(random.below(static_cast<uint64_t>(letters)) + (letters < 256 ? 0xf0 : 0));
      return s;
    };
    std::map<std::string, token> pieces;
    for (auto n = random.below(1000); n > 0; --n) pieces.emplace(any(6), static_cast<token>(pieces.size()));
    const piece_trie trie({pieces.begin(), pieces.end()});
    for (int i = 0; i < 300; ++i) {
      const auto text = any(8);
      std::vector<std::pair<token, size_t>> found, expected;
      trie.each_prefix(text, [&](token t, size_t size) { found.emplace_back(t, size); });
      for (size_t size = 1; size <= text.size(); ++size)
        if (const auto p = pieces.find(text.substr(0, size)); p != pieces.end())
          expected.emplace_back(p->second, size);
      CHECK(found == expected);
    }
  }
}

TEST_CASE("a trie without pieces finds none") {
  const piece_trie trie({});
  for (const auto* text : {"", "a", "\xff"})
    trie.each_prefix(text, [](token, size_t) { FAIL("a piece was found"); });
  trie.each_prefix(std::string_view("\0a", 2), [](token, size_t) { FAIL("a piece was found"); });
}
