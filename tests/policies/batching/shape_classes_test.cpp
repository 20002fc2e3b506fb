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

TEST_CASE("shape classes: each learns its latency, and those that run alone learn theirs by size") {
  auto p = by_shape<eager>(eight_rows(40ms));
  CHECK(p.latency_of(1) == latency_model{{}, 1ms});
  p.add(of_shape(1, 1, 500), at_ms(0));
  p.add(of_shape(2, 2, 500), at_ms(0));
  p.learn({1, 2, 0, 20ms});
  p.learn({2, 1, 0, 3ms});
  CHECK(p.latency_of(1) == latency_model{10ms, {}});
  CHECK(p.latency_of(2) == latency_model{3ms, {}});
  CHECK(p.latency() == latency_model{10ms, {}});
  p.learn({3, 1, 1000, 30ms});
  CHECK(p.latency_of(3) == latency_model{{}, 30ms});
  CHECK(p.latency() == latency_model{{}, 30ms});
  p.set_latency({5ms, 5ms});
  CHECK(p.latency_of(1) == latency_model{10ms, {}});
  p.learn({1, 1, 0, 9s});
  CHECK(p.latency_of(1)(1) <= 40ms);
  CHECK(p.latency_of(1)(1) > 39ms);
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
