#include "policies/batching/shape_classes.hpp"

#include <doctest/doctest.h>

#include <set>

#include "policies/batching/deferred.hpp"
#include "policies/batching/eager.hpp"

using namespace troupe;

namespace {

time_point at_ms(int64_t milliseconds) { return time_point{} + 1h + milliseconds * 1ms; }

/// A row 1 ms, a batch 1 ms more; eight rows at most.
batching_parameters eight_rows(duration max_learned = {}) {
  batching_parameters p;
  p.latency = {1ms, 1ms};
  p.slo = 100ms;
  p.max_rows = 8;
  p.max_learned_latency = max_learned;
  return p;
}

template <class Policy>
shape_classes by_shape(const batching_parameters& p) {
  return {p, [](const batching_parameters& own) { return std::make_unique<Policy>(own, shedding::timeout); }};
}

queued_request of_shape(uint64_t id, uint64_t shape, int64_t deadline_ms = 100, uint32_t rows = 1) {
  return {at_ms(deadline_ms), request_id{id}, rows, static_cast<uint32_t>(id), shape};
}

std::vector<uint64_t> next_ids(shape_classes& p, time_point now) {
  p.update(now, long_ago);
  std::vector<queued_request> batch;
  p.take_batch(batch);
  std::vector<uint64_t> ids;
  for (const auto& t : batch) ids.push_back(t.id.value);
  return ids;
}

using shape_ids = std::vector<uint64_t>;

}  // namespace

TEST_CASE("shape classes: requests of one shape are a batch, and the most urgent shape is the next one") {
  auto p = by_shape<eager>(eight_rows());
  p.add(of_shape(1, 7, 100), at_ms(0));
  p.add(of_shape(2, 9, 50), at_ms(0));
  p.add(of_shape(3, 7, 90), at_ms(0));
  p.add(of_shape(4, 9, 60, 2), at_ms(0));
  CHECK(p.queued_requests() == 4);
  CHECK(p.queued_rows() == 5);
  p.update(at_ms(0), long_ago);
  CHECK(p.window().rows == 3);
  CHECK(next_ids(p, at_ms(0)) == shape_ids{2, 4});
  CHECK(p.window().rows == 0);
  CHECK(next_ids(p, at_ms(0)) == shape_ids{3, 1});
  CHECK(next_ids(p, at_ms(0)).empty());
  CHECK(p.wake_at() == never);
}

TEST_CASE("shape classes: a batch of one shape may wait while another one starts") {
  auto p = by_shape<deferred>(eight_rows());
  p.add(of_shape(1, 7, 100), at_ms(0));
  for (uint64_t id = 2; id < 10; ++id) p.add(of_shape(id, 9, 100), at_ms(0));
  p.update(at_ms(0), long_ago);
  CHECK(p.window().rows == 8);
  CHECK(p.window().exec_at == at_ms(0));
  CHECK(next_ids(p, at_ms(0)).size() == 8);
  p.update(at_ms(0), long_ago);
  CHECK(p.window().rows == 1);
  CHECK(p.window().exec_at > at_ms(90));
}

TEST_CASE("shape classes: beyond the last class requests run alone, and a class without any is given away") {
  auto p = by_shape<eager>(eight_rows());
  const uint64_t count = shape_classes::max_classes;
  for (uint64_t shape = 1; shape <= count; ++shape) p.add(of_shape(shape, shape, 500), at_ms(0));
  for (uint64_t id = 101; id <= 103; ++id) p.add(of_shape(id, 100, 200), at_ms(0));
  CHECK(next_ids(p, at_ms(0)) == shape_ids{101});
  CHECK(next_ids(p, at_ms(0)) == shape_ids{102});
  CHECK(next_ids(p, at_ms(0)) == shape_ids{103});
  CHECK(next_ids(p, at_ms(0)) == shape_ids{1});
  for (uint64_t id = 104; id <= 106; ++id) p.add(of_shape(id, 100, 200), at_ms(0));
  CHECK(next_ids(p, at_ms(0)) == shape_ids{104, 105, 106});
  p.add(of_shape(107, 1, 200), at_ms(0));  // its class is gone
  p.add(of_shape(108, 1, 200), at_ms(0));
  CHECK(next_ids(p, at_ms(0)) == shape_ids{107, 108});
  CHECK(p.queued_requests() == count - 1);
}

TEST_CASE("shape classes: each learns its latency, and the size tells that of an unknown one") {
  auto p = by_shape<eager>(eight_rows(40ms));
  CHECK(p.latency_of(1) == latency_model{{}, 1ms});
  p.arrived(1, 1000);
  p.arrived(2, 100);
  p.add(of_shape(1, 1, 500), at_ms(0));
  p.add(of_shape(2, 2, 500), at_ms(0));
  p.learn({1, 2, 1000, 20ms});
  p.learn({2, 1, 100, 3ms});
  CHECK(p.latency_of(1) == latency_model{10ms, {}});
  CHECK(p.latency_of(2) == latency_model{3ms, {}});
  CHECK(p.latency()(1) == 20ms);
  p.arrived(3, 100);
  CHECK(p.latency_of(3) == latency_model{{}, 3ms});
  p.arrived(4, 10);
  CHECK(p.latency_of(4) == latency_model{{}, 1ms});
  p.arrived(5, 100'000);
  CHECK(p.latency_of(5) == latency_model{{}, 20ms});
  p.set_latency({5ms, 5ms});
  CHECK(p.latency_of(1) == latency_model{10ms, {}});
  p.learn({1, 1, 1000, 9s});
  CHECK(p.latency_of(1)(1) <= 40ms);
  CHECK(p.latency_of(1)(1) > 39ms);
  for (int i = 0; i < 64; ++i) p.arrived(1, 1000);  // all of them may have been refused
  CHECK(p.latency_of(1) == latency_model{{}, 1ms});
}

TEST_CASE("shape classes: what is known of a shape outlives its class, and the policy") {
  auto p = by_shape<eager>(eight_rows(40ms));
  p.arrived(1, 10);
  p.learn({1, 1, 10, 7ms});
  for (uint64_t shape = 2; shape < 100; ++shape) {
    p.add(of_shape(shape, shape), at_ms(0));
    CHECK(next_ids(p, at_ms(0)).size() == 1);
  }
  CHECK(p.latency_of(1) == latency_model{7ms, {}});
  auto next = by_shape<deferred>(eight_rows(40ms));
  next.take_latency(p);
  CHECK(next.latency_of(1) == latency_model{7ms, {}});
  for (uint64_t shape = 1000; shape < 1000 + 2 * shape_classes::max_profiles; ++shape) {
    next.add(of_shape(shape, shape), at_ms(0));
    next_ids(next, at_ms(0));
    next.arrived(shape, 10);
  }
  CHECK(next.latency_of(1)(1) != 7ms);  // the least recently used one
}

TEST_CASE("shape classes: batches of an unknown shape do not wait for more rows") {
  auto p = by_shape<deferred>(eight_rows(40ms));
  p.arrived(1, 10);
  p.add(of_shape(1, 1), at_ms(0));
  p.update(at_ms(0), long_ago);
  CHECK(p.window().exec_at == at_ms(0));
  p.learn({1, 1, 10, 2ms});
  p.update(at_ms(0), long_ago);
  CHECK(p.window().exec_at > at_ms(50));
}

TEST_CASE("shape classes: of batches that may start, that with the least time left is the next one") {
  auto given = eight_rows();
  given.network.data = 1ms;  // a larger batch is at the device later
  auto p = by_shape<eager>(given);
  p.add(of_shape(1, 1, 90), at_ms(0));
  for (uint64_t id = 2; id < 6; ++id) p.add(of_shape(id, 2, 30), at_ms(0));
  CHECK(next_ids(p, at_ms(0)) == shape_ids{2, 3, 4, 5});
}

TEST_CASE("shape classes: a class without arrivals needs no slots") {
  shape_classes p(eight_rows(), [](const batching_parameters& own) {
    return std::make_unique<eager>(own, shedding::window);
  });
  const auto arrive_in = [&](int64_t from, uint64_t shape) {
    for (int64_t i = 0; i < 3000; ++i) {
      p.add(of_shape(static_cast<uint64_t>(from + i), shape, from + i + 100), at_ms(from + i));
      next_ids(p, at_ms(from + i));
    }
  };
  arrive_in(0, 1);
  const auto one = p.need();
  CHECK(one > 0);
  arrive_in(3000, 2);
  arrive_in(6000, 3);
  CHECK(p.need() < 2.5 * one);
}

TEST_CASE("shape classes: a latency that is given holds for all") {
  auto p = by_shape<eager>(eight_rows());
  p.add(of_shape(1, 1, 500), at_ms(0));
  p.learn({1, 2, 0, 20ms});
  CHECK(p.latency_of(1) == latency_model{1ms, 1ms});
  p.set_latency({5ms, 5ms});
  for (const uint64_t shape : {1, 2}) CHECK(p.latency_of(shape) == latency_model{5ms, 5ms});
  CHECK(p.latency() == latency_model{5ms, 5ms});
}

TEST_CASE("shape classes: late requests of every shape are dropped, and others can be removed") {
  auto p = by_shape<eager>(eight_rows());
  for (uint64_t id = 1; id <= 4; ++id) p.add(of_shape(id, id % 2, id < 3 ? 10 : 100), at_ms(0));
  p.update(at_ms(9), long_ago);
  std::vector<dropped_queued_request> dropped;
  p.take_dropped(dropped);
  CHECK(dropped.size() == 2);
  std::vector<queued_request> removed;
  p.remove_if([](const queued_request& t) { return t.id == request_id{3}; }, removed);
  CHECK(removed.size() == 1);
  CHECK(next_ids(p, at_ms(9)) == shape_ids{4});
}

TEST_CASE("shape classes: drops of a class outlive it") {
  auto p = by_shape<eager>(eight_rows());
  p.add(of_shape(1, 1, 10, 9), at_ms(0));  // more rows than a batch has
  for (uint64_t shape = 2; shape <= shape_classes::max_classes + 1; ++shape)
    p.add(of_shape(shape, shape), at_ms(0));
  std::vector<dropped_queued_request> dropped;
  p.take_dropped(dropped);
  REQUIRE(dropped.size() == 1);
  CHECK(dropped[0].request.id == request_id{1});
}
