#include "gpu/tokenizer/pair_merger.hpp"

#include <doctest/doctest.h>

#include <map>
#include <utility>

#include "policies/common/random.hpp"

using namespace troupe;
using namespace troupe::llm;

namespace {

using ids = std::vector<token>;
using rules = std::map<std::pair<token, token>, merge_table::merge>;

/// By the definition: the best pair of all, the leftmost of equal ones, again and again.
ids merged(ids symbols, const rules& all) {
  for (;;) {
    size_t best = 0;
    const merge_table::merge* by = nullptr;
    for (size_t i = 0; i + 1 < symbols.size(); ++i) {
      const auto found = all.find({symbols[i], symbols[i + 1]});
      if (found == all.end() || (by != nullptr && by->rank <= found->second.rank)) continue;
      by = &found->second;
      best = i;
    }
    if (by == nullptr) return symbols;
    symbols[best] = by->result;
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
}

}  // namespace

TEST_CASE("words of any length are merged by rank, and from the left") {
  for (uint64_t run = 0; run < 300; ++run) {
    CAPTURE(run);
    random_stream random(1, "merges", run);
    const auto symbol = [&](size_t n) { return static_cast<token>(random.below(n)); };
    rules all;
    merge_table table(60);
    for (int i = 0; i < 60; ++i) {
      // equal ranks, as of sentencepiece's equal scores, and results that merges of other pairs have too
      const merge_table::merge m{static_cast<uint32_t>(random.below(20)), symbol(12)};
      const auto left = symbol(12), right = symbol(12);
      all.emplace(std::pair(left, right), m);
      table.add(left, right, m);
    }
    pair_merger merger(table);
    for (const size_t length : {0, 1, 2, 5, 23, 24, 25, 26, 60, 300}) {
      ids word;
      for (size_t i = 0; i < length; ++i) word.push_back(symbol(12));
      ids out{-7};
      merger.append(word, out);
      auto expected = merged(word, all);
      expected.insert(expected.begin(), -7);
      CHECK(out == expected);
    }
  }
}

TEST_CASE("the first merge of a pair counts, and pairs without one are not found") {
  merge_table table(3);
  table.add(1, 2, {5, 10});
  table.add(1, 2, {1, 11});
  table.add(2, 1, {0, 12});
  REQUIRE(table.find(1, 2) != nullptr);
  CHECK(table.find(1, 2)->result == 10);
  CHECK(table.find(2, 1)->rank == 0);
  CHECK(table.find(2, 2) == nullptr);
  CHECK(table.find(0, 0) == nullptr);
  CHECK(merge_table().find(0, 0) == nullptr);
}
