#include "policies/batching/batch_history.hpp"

#include <doctest/doctest.h>

using namespace troupe;

namespace {

batch_history of_batches(uint32_t n) {
  batch_history h;
  for (uint32_t i = 1; i <= n; ++i)
    h.add({model_id{i % 3}, 2, i, time_point{i * 1ms}, time_point{(i + 1) * 1ms}, false});
  return h;
}

std::vector<uint64_t> numbers_of(const past_batches& p) {
  std::vector<uint64_t> out;
  for (const auto& b : p.batches) out.push_back(b.number);
  return out;
}

}  // namespace

TEST_CASE("batch history: lists the newest batches behind a number, oldest first") {
  const auto h = of_batches(5);
  CHECK(numbers_of(h.list({0, 10}, time_point{9ms})) == std::vector<uint64_t>{1, 2, 3, 4, 5});
  CHECK(numbers_of(h.list({0, 2}, time_point{9ms})) == std::vector<uint64_t>{4, 5});
  CHECK(numbers_of(h.list({3, 10}, time_point{9ms})) == std::vector<uint64_t>{4, 5});
  CHECK(numbers_of(h.list({5, 10}, time_point{9ms})).empty());
  CHECK(numbers_of(h.list({UINT64_MAX, 10}, time_point{9ms})).empty());  // of an earlier process
  CHECK(numbers_of(h.list({0, 0}, time_point{9ms})).empty());
  CHECK(numbers_of(batch_history{}.list({0, 10}, time_point{9ms})).empty());
}

TEST_CASE("batch history: an entry has the age and the duration of its batch") {
  batch_history h;
  h.add({model_id{4}, 3, 2, time_point{10ms}, time_point{17ms}, true});
  const auto b = h.list({0, 1}, time_point{20ms}).batches.at(0);
  CHECK(b.model == model_id{4});
  CHECK(b.requests == 3);
  CHECK(b.rows == 2);
  CHECK(b.ended_ago == 3ms);
  CHECK(b.took == 7ms);
  CHECK(b.stopped);
}

TEST_CASE("batch history: drops the oldest, and never reuses their numbers") {
  const auto h = of_batches(batch_history::capacity + 3);
  const auto all = h.list({0, 1000}, time_point{0ms}).batches;
  REQUIRE(all.size() == batch_history::capacity);
  CHECK(all.front().number == 4);
  CHECK(all.front().rows == 4);
  CHECK(all.back().number == batch_history::capacity + 3);
  CHECK(h.list({2, 1000}, time_point{0ms}).batches.size() == batch_history::capacity);
}
