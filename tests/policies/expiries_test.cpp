#include "policies/expiries.hpp"

#include <doctest/doctest.h>

#include <set>

#include "policies/random.hpp"

using namespace troupe;

namespace {
constexpr time_point start{1h};
const auto all = [](request_id) { return true; };
}  // namespace

TEST_CASE("what is due is popped by time, then by id") {
  expiries e;
  e.add(start + 300ms, {3});
  e.add(start + 100ms, {2});
  e.add(start + 100ms, {1});
  CHECK(e.next() <= start + 100ms);
  CHECK(!e.pop(start + 100ms - 1ns, all));
  CHECK(e.pop(start + 100ms, all) == request_id{1});
  CHECK(e.pop(start + 100ms, all) == request_id{2});
  CHECK(!e.pop(start + 300ms - 1ns, all));
  e.add(start + 299ms, {4});
  CHECK(e.pop(start + 1h, all) == request_id{4});
  CHECK(e.pop(start + 1h, all) == request_id{3});
  CHECK(!e.pop(start + 1h, all));
  CHECK(e.next() == never);
}

TEST_CASE("what has ended is forgotten when its time comes") {
  expiries e;
  for (uint64_t i = 1; i <= 10; ++i) e.add(start + i * 1ms, {i});
  const auto even = [](request_id id) { return id.value % 2 == 0; };
  CHECK(e.pop(start + 5ms, even) == request_id{2});
  CHECK(e.pop(start + 5ms, even) == request_id{4});
  CHECK(!e.pop(start + 5ms, even));
  for (uint64_t i : {6, 8, 10}) CHECK(e.pop(start + 1s, even) == request_id{i});
  CHECK(!e.pop(start + 1s, all));
}

TEST_CASE("expiries agree with a sorted set, whatever the history, and call for no late pop") {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    random_stream r(seed, "expiries");
    expiries e;
    std::set<std::pair<time_point, request_id>> expected;
    auto now = start;
    for (uint64_t i = 1; i <= 2000; ++i) {
      const auto at = now + duration{static_cast<int64_t>(r.below(i % 2 == 0 ? 2'000'000'000 : 1'000'000))};
      e.add(at, {i});
      expected.emplace(at, request_id{i});
      CHECK(e.next() <= expected.begin()->first);
      now += duration{static_cast<int64_t>(r.below(4'000'000))};
      while (const auto id = e.pop(now, all)) {
        REQUIRE(!expected.empty());
        CHECK(expected.begin()->first <= now);
        CHECK(expected.begin()->second == *id);
        expected.erase(expected.begin());
      }
      CHECK((expected.empty() || expected.begin()->first > now));
    }
  }
}
