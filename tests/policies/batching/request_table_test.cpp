#include "policies/batching/request_table.hpp"

#include <doctest/doctest.h>

using namespace troupe;

namespace {

request_table::entry entry(uint64_t id, int64_t taken_at = 0) {
  request_table::entry e;
  e.what.id = request_id{id};
  e.taken_at = time_point{duration{taken_at}};
  return e;
}

std::vector<uint64_t> waited_for(const request_table& t) {
  std::vector<uint64_t> out;
  t.for_each([&](uint32_t, const request& r) { out.push_back(r.id.value); });
  return out;
}

}  // namespace

TEST_CASE("a request_table reuses the handle released last, and drops its former request") {
  request_table t;
  const auto first = t.add(entry(1)), second = t.add(entry(2));
  CHECK(t[first].id == request_id{1});
  t.release(first);
  t.release(second);
  CHECK(waited_for(t).empty());
  CHECK(t.add(entry(3)) == second);
  CHECK(t.add(entry(4)) == first);
  CHECK(t.handles() == 2);
  CHECK_FALSE(t.find(request_id{1}));
  CHECK(t.all_of(first).returned == 0);
}

TEST_CASE("a request_table keeps the given number of released requests") {
  request_table t;
  t.remember(2);
  for (uint64_t id = 1; id <= 10; ++id) t.release(t.add(entry(id)));
  CHECK(t.handles() == 3);
  CHECK_FALSE(t.find(request_id{8}));
  for (const uint64_t id : {9, 10}) {
    const auto handle = t.find(request_id{id});
    REQUIRE(handle);
    CHECK(t[*handle].id == request_id{id});
    CHECK_FALSE(t.holds(*handle));
  }
  CHECK(waited_for(t).empty());

  SUBCASE("a limit of zero drops them") {
    t.remember(0);
    for (uint64_t id = 11; id <= 13; ++id) t.add(entry(id));
    CHECK(t.handles() == 3);
    CHECK_FALSE(t.find(request_id{10}));
  }
  SUBCASE("the latest entry of a repeated request is found") {
    const auto again = t.add(entry(10, 1));
    CHECK(t.find(request_id{10}) == again);
    CHECK(t.holds(again));
  }
  SUBCASE("the unreleased entry of a repeated request is found") {
    const auto again = t.add(entry(10));
    CHECK(t.find(request_id{10}) == again);
  }
  SUBCASE("the last of requests released together are found") {
    for (uint64_t id = 11; id <= 13; ++id) t.add(entry(id));
    t.release_all();
    CHECK(waited_for(t).empty());
    CHECK(t.find(request_id{13}));
    CHECK_FALSE(t.find(request_id{10}));
  }
}

TEST_CASE("a request_table skips requests that have an outcome") {
  request_table t;
  t.add(entry(1));
  const auto lost = t.add(entry(2));
  t.add(entry(3));
  t[lost].id = {};
  CHECK(waited_for(t) == std::vector<uint64_t>{1, 3});
}
