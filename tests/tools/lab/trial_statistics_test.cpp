#include "tools/lab/trial_statistics.hpp"

#include <doctest/doctest.h>

#include <stdexcept>

using namespace troupe;
using namespace troupe::lab;

namespace {

constexpr time_point books_start{};

trial two_slots() {
  trial t;
  t.models = {{"m", {1ms, 5ms}, 20ms, 1, 2}};
  t.slots = 2;
  t.response = 1ms;
  t.warm_up = {};
  t.length = 1s;
  return t;
}

/// Requests with these arrivals.
std::vector<queued_request> arrived_at(std::initializer_list<duration> when) {
  std::vector<queued_request> out;
  for (const auto at : when) out.push_back({books_start + at + 20ms, request_id{out.size() + 1}});
  return out;
}

}  // namespace

TEST_CASE("trial_statistics counts good requests, queueing times and busy time of slots") {
  const auto t = two_slots();
  trial_statistics statistics{t};
  for (const auto at : {0ms, 1ms}) statistics.arrived(0, books_start + at);
  statistics.started(0, 1, books_start + 2ms, books_start + 9ms, arrived_at({0ms, 1ms}));
  const auto r = statistics.close();
  CHECK(r.models[0].offered == 2);
  CHECK(r.models[0].good == 2);
  CHECK(r.batches == std::vector<uint64_t>{0, 0, 1});
  CHECK(r.busy == std::vector<duration>{0ms, 7ms});
  CHECK(r.queueing.count() == 2);
  CHECK(r.queueing.max() == 2ms);
}

TEST_CASE("requests of a stopped batch count as not started") {
  const auto t = two_slots();
  trial_statistics statistics{t};
  const auto small = arrived_at({0ms}), large = arrived_at({0ms, 4ms});
  statistics.started(0, 0, books_start + 1ms, books_start + 7ms, small);
  statistics.stopped(0, 0, books_start + 1ms, books_start + 7ms, books_start + 5ms, small);
  statistics.started(0, 0, books_start + 5ms, books_start + 12ms, large);
  const auto r = statistics.close();
  CHECK(r.preempted == 1);
  CHECK(r.models[0].good == 2);
  CHECK(r.batches == std::vector<uint64_t>{0, 0, 1});
  CHECK(r.busy[0] == 11ms);
  REQUIRE(r.queueing.count() == 2);  // not three
  CHECK(r.queueing.min() == 1ms);
  CHECK(r.queueing.max() == 5ms);
}

TEST_CASE("a violated invariant is an error under every policy") {
  const auto t = two_slots();
  trial_statistics statistics{t};
  const auto begin = [&](uint32_t slot, duration from, duration until,
                         const std::vector<queued_request>& batch) {
    statistics.started(0, slot, books_start + from, books_start + until, batch);
  };
  begin(0, 1ms, 7ms, arrived_at({0ms}));
  CHECK_THROWS_WITH_AS(begin(0, 6ms, 12ms, arrived_at({5ms})),
                       "slot 0 begins a batch at 6 ms, its last one ends at 7 ms", std::logic_error);
  begin(0, 7ms, 13ms, arrived_at({5ms}));  // immediately after it: no overlap
  CHECK_THROWS_WITH_AS(begin(1, 6ms, 14ms, arrived_at({3ms, 4ms, 5ms})),
                       "a batch of model 'm' has 3 rows, at most 2 may run together", std::logic_error);
  CHECK_THROWS_WITH_AS(
      begin(1, 14ms, 20ms, arrived_at({0ms})),
      "a batch of model 'm' ends at 20 ms and is answered 1 ms later, the deadline of a request in "
      "it is 20 ms",
      std::logic_error);
  begin(1, 13ms, 19ms, arrived_at({0ms}));  // to the microsecond
  CHECK(statistics.close().models[0].good == 3);
}
