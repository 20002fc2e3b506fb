#include "policies/common/expiry_queue.hpp"

#include <doctest/doctest.h>

#include <set>

#include "policies/common/random.hpp"
#include "tests/policies/common/moments.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {
const auto any_request = [](request_id) { return true; };
}  // namespace

TEST_CASE("due entries are popped by time, then by id") {
  expiry_queue e;
  e.add(the_start + 300ms, {3});
  e.add(the_start + 100ms, {2});
  e.add(the_start + 100ms, {1});
  CHECK(e.next() <= the_start + 100ms);
  CHECK(!e.pop(the_start + 100ms - 1ns, any_request));
  CHECK(e.pop(the_start + 100ms, any_request) == request_id{1});
  CHECK(e.pop(the_start + 100ms, any_request) == request_id{2});
  CHECK(!e.pop(the_start + 300ms - 1ns, any_request));
  e.add(the_start + 299ms, {4});
  CHECK(e.pop(the_start + 1h, any_request) == request_id{4});
  CHECK(e.pop(the_start + 1h, any_request) == request_id{3});
  CHECK(!e.pop(the_start + 1h, any_request));
  CHECK(e.next() == never);
}

TEST_CASE("an ended entry is dropped when it is due") {
  expiry_queue e;
  for (uint64_t i = 1; i <= 10; ++i) e.add(the_start + i * 1ms, {i});
  const auto even = [](request_id id) { return id.value % 2 == 0; };
  CHECK(e.pop(the_start + 5ms, even) == request_id{2});
  CHECK(e.pop(the_start + 5ms, even) == request_id{4});
  CHECK(!e.pop(the_start + 5ms, even));
  for (uint64_t i : {6, 8, 10}) CHECK(e.pop(the_start + 1s, even) == request_id{i});
  CHECK(!e.pop(the_start + 1s, any_request));
}

TEST_CASE("expiries agree with a sorted set over random histories, and never wake late") {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    random_stream r(seed, "expiries");
    expiry_queue e;
    std::set<std::pair<time_point, request_id>> expected;
    auto now = the_start;
    for (uint64_t i = 1; i <= 2000; ++i) {
      const auto at = now + duration{static_cast<int64_t>(r.below(i % 2 == 0 ? 2'000'000'000 : 1'000'000))};
      e.add(at, {i});
      expected.emplace(at, request_id{i});
      CHECK(e.next() <= expected.begin()->first);
      now += duration{static_cast<int64_t>(r.below(4'000'000))};
      while (const auto id = e.pop(now, any_request)) {
        REQUIRE(!expected.empty());
        CHECK(expected.begin()->first <= now);
        CHECK(expected.begin()->second == *id);
        expected.erase(expected.begin());
      }
      CHECK((expected.empty() || expected.begin()->first > now));
    }
  }
}
