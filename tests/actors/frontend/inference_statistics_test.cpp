#include "actors/frontend/inference_statistics.hpp"

#include <doctest/doctest.h>

namespace troupe {
namespace {

constexpr time_point recording_start{1h};

batch_times times() {
  batch_times t;
  t.ordered_at = recording_start + 1ms;
  t.received_at = recording_start + 2ms;
  t.inputs_at = recording_start + 5ms;
  t.started_at = recording_start + 9ms;
  t.finished_at = recording_start + 16ms;
  return t;
}

outcome finished() {
  outcome o;
  o.batch_rows = 4;
  o.arrival = recording_start;
  o.latency = 20ms;
  o.times = times();
  return o;
}

TEST_CASE("the steps of a request add up to its time") {
  inference_statistics s;
  s.answered(model_id{1}, 3, finished());
  const auto m = s.of(model_id{1});
  CHECK(m.inferences == 3);
  CHECK(m.success == timed_count{1, 20ms});
  CHECK(m.requests.queue ==
        timed_count{1, 6ms});  // until the worker had the order, and until the device was free
  CHECK(m.requests.compute_input == timed_count{1, 3ms});
  CHECK(m.requests.compute_infer == timed_count{1, 7ms});
  CHECK(m.requests.compute_output == timed_count{1, 4ms});
  CHECK(m.last_inference == recording_start + 20ms);
  CHECK(s.of(model_id{0}).success.count == 0);
  CHECK(s.of(model_id{7}).success.count == 0);
}

TEST_CASE("a batch counts once, for any number of its answers") {
  inference_statistics s;
  s.executed(model_id{0}, 4, times());
  s.answered(model_id{0}, 3, finished());
  s.answered(model_id{0}, 1, finished());
  const auto m = s.of(model_id{0});
  CHECK(m.executions == 1);
  CHECK(m.inferences == 4);
  REQUIRE(m.batches.size() == 1);
  CHECK(m.batches.at(4).compute_infer == timed_count{1, 7ms});
  CHECK(m.batches.at(4).compute_input == timed_count{1, 3ms});
  CHECK(m.batches.at(4).compute_output == timed_count{2, 8ms});
}

TEST_CASE("a dropped or failed request counts as a failure, with its time and nothing else") {
  inference_statistics s;
  outcome late;
  late.kind = outcome_kind::dropped;
  late.latency = 5ms;
  s.answered(model_id{0}, 2, late);
  const auto m = s.of(model_id{0});
  CHECK(m.fail == timed_count{1, 5ms});
  CHECK(m.inferences == 0);
  CHECK(m.requests.queue.count == 0);
  CHECK(m.last_inference == never);
}

TEST_CASE("times that are out of order count as zero") {
  inference_statistics s;
  auto o = finished();
  o.times.received_at = recording_start - 1ms;
  o.times.inputs_at = never;
  s.answered(model_id{0}, 1, o);
  CHECK(s.of(model_id{0}).requests.queue == timed_count{1, 0ms});
  CHECK(s.of(model_id{0}).requests.compute_input == timed_count{1, 0ms});
}

}  // namespace
}  // namespace troupe
