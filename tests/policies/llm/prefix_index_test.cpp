#include "policies/llm/prefix_index.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "policies/common/random.hpp"

using namespace troupe;
using namespace troupe::llm;

namespace {

using depths = std::vector<uint32_t>;

depths depths_of(prefix_index& index, const std::vector<uint64_t>& prompt) {
  const auto found = index.longest(prompt);
  return {found.begin(), found.end()};
}

}  // namespace

TEST_CASE("prefix index: it finds how much of a prompt each engine holds") {
  prefix_index index(4);
  for (const uint64_t b : {10, 20, 30, 40}) index.add(0, b);
  for (const uint64_t b : {10, 20}) index.add(1, b);
  index.add(2, 11);
  CHECK(depths_of(index, {10, 20, 30, 99}) == depths{3, 2, 0, 0});
  CHECK(depths_of(index, {10}) == depths{1, 1, 0, 0});
  CHECK(depths_of(index, {11, 21}) == depths{0, 0, 1, 0});
  CHECK(depths_of(index, {7}) == depths{0, 0, 0, 0});
  CHECK(depths_of(index, {}) == depths{0, 0, 0, 0});
  index.remove(0, 40);
  index.remove(0, 30);
  CHECK(depths_of(index, {10, 20, 30, 40}) == depths{2, 2, 0, 0});
  index.clear(0);
  CHECK(depths_of(index, {10, 20, 30, 40}) == depths{0, 2, 0, 0});
  CHECK(index.blocks() == 3);
}

TEST_CASE("prefix index: any order of additions, removals and look-ups, with many engines") {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    random_stream random(seed, "prefix index");
    const size_t engines = 1 + random.below(150);
    prefix_index index(engines);
    std::vector<std::vector<uint64_t>> chains(8);
    for (auto& c : chains)
      for (uint64_t n = 1 + random.below(60); n > 0; --n)
        c.push_back(random() & (random.below(2) == 0 ? 0xff00 : ~0ULL));
    std::vector<std::vector<size_t>> held(engines, std::vector<size_t>(chains.size()));  // the first blocks
    std::map<uint64_t, uint32_t> uses;  // blocks that are in several chains stay out
    for (auto& c : chains) {
      std::erase_if(c, [&](uint64_t b) { return uses[b]++ > 0; });
      if (c.empty()) c.push_back(random());
    }
    for (int i = 0; i < 3000; ++i) {
      const auto e = random.below(engines), which = random.below(chains.size());
      auto& depth = held[e][which];
      const auto wanted = random.below(chains[which].size() + 1);
      for (; depth < wanted; ++depth) index.add(e, chains[which][depth]);
      for (; depth > wanted; --depth) index.remove(e, chains[which][depth - 1]);
      if (random.below(100) == 0) {
        index.clear(e);
        std::ranges::fill(held[e], 0);
      }
      const auto asked = random.below(chains.size());
      auto prompt = chains[asked];
      prompt.push_back(random());
      depths right;
      for (const auto& h : held) right.push_back(static_cast<uint32_t>(h[asked]));
      REQUIRE(depths_of(index, prompt) == right);
    }
    size_t blocks = 0;
    for (size_t c = 0; c < chains.size(); ++c) {
      size_t longest = 0;
      for (const auto& h : held) longest = std::max(longest, h[c]);
      blocks += longest;
    }
    CHECK(index.blocks() == blocks);
  }
}
