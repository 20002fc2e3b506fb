#include "policies/common/tournament.hpp"

#include <doctest/doctest.h>

#include <map>

#include "policies/common/random.hpp"

using namespace troupe;

TEST_CASE("an empty tournament has no first") {
  tournament<int> t(1000);
  CHECK(t.empty());
  CHECK(t.best() == 1000);
  CHECK(t.first() == t.npos);
  CHECK(t.first_within(999) == t.npos);
  t.erase(77);
  CHECK(t[77] == 1000);
}

TEST_CASE("equal keys: the lowest index comes first") {
  tournament<int> t(1000);
  for (uint32_t i : {9u, 3u, 6u}) t.set(i, 5);
  t.set(1, 8);
  CHECK(t.first() == 3);
  CHECK(t.first_within(8) == 1);
  CHECK(t.first_within(7) == 3);
  CHECK(t.first_within(4) == t.npos);
}

TEST_CASE("a tournament agrees with a plain search over random histories") {
  random_stream random(1, "tournament");
  tournament<int> t(1000);
  std::map<uint32_t, int> plain;
  for (int step = 0; step < 20000; ++step) {
    const auto index = static_cast<uint32_t>(random.below(1 + step / 100));
    if (random.below(3) == 0) {
      t.erase(index);
      plain.erase(index);
    } else {
      const int key = static_cast<int>(random.below(50));
      t.set(index, key);
      plain[index] = key;
    }
    const int bound = static_cast<int>(random.below(50));
    uint32_t first = t.npos, within = t.npos;
    int best = 1000;
    for (const auto& [i, key] : plain) {
      if (key < best) best = key, first = i;
      if (key <= bound && within == t.npos) within = i;
    }
    REQUIRE(t.empty() == plain.empty());
    REQUIRE(t.best() == best);
    REQUIRE(t.first() == first);
    REQUIRE(t.first_within(bound) == within);
    REQUIRE(t[index] == (plain.contains(index) ? plain[index] : 1000));
  }
}
