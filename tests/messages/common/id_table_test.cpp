#include "messages/common/id_table.hpp"

#include <doctest/doctest.h>

#include <iterator>
#include <map>
#include <memory>
#include <string>

#include "messages/common/ids.hpp"
#include "policies/common/random.hpp"

using namespace troupe;

TEST_CASE("an id table finds what was added until it is taken") {
  id_table<request_id, std::string> t;
  CHECK(t.find({7}) == nullptr);
  t.add({7}, "seven") += "!";
  REQUIRE(t.find({7}) != nullptr);
  CHECK(*t.find({7}) == "seven!");
  CHECK(t.add({7}, "another") == "seven!");
  CHECK(t.size() == 1);
  CHECK(t.take({7}) == "seven!");
  CHECK(!t.contains({7}));
  CHECK(t.take({7}).empty());
  CHECK(t.empty());
}

TEST_CASE("an id table agrees with a map over random histories") {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    random_stream r(seed, "ids");
    id_table<uint64_t, uint64_t> t;
    std::map<uint64_t, uint64_t> expected;
    // Consecutive ids, clustered ids, and ids that differ only in their upper bits.
    const auto any_id = [&](uint64_t i) {
      switch (r.below(3)) {
        case 0: return i + 1;
        case 1: return 1 + r.below(64);
        default: return (1 + r.below(64)) << 48;
      }
    };
    for (uint64_t i = 0; i < 3000; ++i) {
      const auto id = any_id(i);
      if (r.below(i < 1500 ? 3 : 6) < 2) {
        CHECK(t.add(id, i) == expected.emplace(id, i).first->second);
      } else {
        const auto victim = expected.lower_bound(id);
        const auto gone = victim == expected.end() ? id : victim->first;
        CHECK(t.take(gone) == (victim == expected.end() ? 0 : victim->second));
        expected.erase(gone);
      }
    }
    CHECK(t.size() == expected.size());
    for (const auto& [id, value] : expected) {
      REQUIRE(t.contains(id));
      CHECK(*t.find(id) == value);
    }
    size_t seen = 0;
    static_assert(std::forward_iterator<decltype(t.entries().begin())>);
    for (const auto& e : t.entries()) {
      ++seen;
      CHECK(expected.at(e.id) == e.value);
    }
    CHECK(seen == expected.size());
  }
}

TEST_CASE("an id table keeps nothing of what was taken") {
  id_table<uint64_t, std::shared_ptr<int>> t;
  const auto value = std::make_shared<int>(1);
  t.add(1, value);
  t.add(2, value);
  t.erase(1);
  CHECK(value.use_count() == 2);
  t.clear();
  CHECK(value.use_count() == 1);
  CHECK(t.empty());
}
