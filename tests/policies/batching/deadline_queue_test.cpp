#include "policies/batching/deadline_queue.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <iterator>

#include "policies/common/random.hpp"
#include "tests/policies/batching/paper_batching.hpp"

using namespace troupe;
using namespace troupe::test;

TEST_CASE("the queue is in the order of deadlines, equal deadlines in the order of ids") {
  deadline_queue q;
  CHECK(q.insert(due(20, 1)) == 0);
  CHECK(q.insert(due(30, 2)) == 1);
  CHECK(q.insert(due(10, 3)) == 0);
  CHECK(q.insert(due(20, 5)) == 2);
  CHECK(q.insert(due(20, 4)) == 2);
  for (size_t i = 0; const uint64_t id : {3, 1, 4, 5, 2}) CHECK(q[i++].id.value == id);
}

TEST_CASE("rows are summed from the front") {
  deadline_queue q;
  q.insert(due(10, 1, 3));
  q.insert(due(30, 2, 4));
  q.insert(due(20, 3, 2));
  CHECK(q.rows() == 9);
  CHECK(q.rows_before(0) == 0);
  CHECK(q.rows_before(2) == 5);
  CHECK(q.count_within(0) == 0);
  CHECK(q.count_within(4) == 1);
  CHECK(q.count_within(5) == 2);
  CHECK(q.count_within(100) == 3);
  q.pop_front(1);
  CHECK(q.rows() == 6);
  CHECK(q.rows_before(1) == 2);
}

TEST_CASE("only queued requests can be erased") {
  const auto everything = [](const queued_request&) { return true; };
  deadline_queue q;
  std::vector<queued_request> gone;
  CHECK(q.erase_if(everything, gone) == q.npos);
  q.insert(due(10, 1));
  q.pop_front(1);
  CHECK(q.erase_if(everything, gone) == q.npos);
  CHECK(gone.empty());
}

TEST_CASE("the queue agrees with a sorted vector over random histories") {
  random_stream random(2, "queue");
  deadline_queue q;
  std::vector<queued_request> plain;
  for (uint64_t step = 1; step < 20000; ++step) {
    const auto choice = random.below(10);
    if (choice < 6) {
      const auto jitter = random.below(4) == 0 ? random.below(200) : 200;
      const auto t =
          due(static_cast<int>(step / 4 + jitter), step, 1 + static_cast<uint32_t>(random.below(5)));
      const auto place = std::upper_bound(plain.begin(), plain.end(), t,
                                          [](const queued_request& a, const queued_request& b) {
                                            return std::pair(a.deadline, a.id) < std::pair(b.deadline, b.id);
                                          });
      REQUIRE(q.insert(t) == static_cast<size_t>(place - plain.begin()));
      plain.insert(place, t);
    } else if (choice < 8) {
      const auto leaves = [from = step - random.below(std::min<uint64_t>(step, 50)),
                           stride = 1 + random.below(4)](const queued_request& t) {
        return t.id.value >= from && t.id.value % stride == 0 && t.id.value < from + 8;
      };
      std::vector<queued_request> gone, expected;
      const auto first = std::find_if(plain.begin(), plain.end(), leaves);
      const auto place = first == plain.end() ? q.npos : static_cast<size_t>(first - plain.begin());
      std::copy_if(plain.begin(), plain.end(), std::back_inserter(expected), leaves);
      std::erase_if(plain, leaves);
      REQUIRE(q.erase_if(leaves, gone) == place);
      REQUIRE(std::equal(gone.begin(), gone.end(), expected.begin(), expected.end(),
                         [](const queued_request& a, const queued_request& b) { return a.id == b.id; }));
    } else {
      const auto count = random.below(std::min<size_t>(plain.size(), 12) + 1);
      q.pop_front(count);
      plain.erase(plain.begin(), plain.begin() + static_cast<std::ptrdiff_t>(count));
    }
    REQUIRE(q.size() == plain.size());
    const auto limit = static_cast<uint32_t>(random.below(60));
    uint32_t rows = 0;
    size_t within = 0;
    for (size_t i = 0; i < plain.size(); ++i) {
      REQUIRE(q[i].id == plain[i].id);
      REQUIRE(q.rows_before(i) == rows);
      rows += plain[i].rows;
      if (rows <= limit) within = i + 1;
    }
    REQUIRE(q.rows() == rows);
    REQUIRE(q.count_within(limit) == within);
  }
}
