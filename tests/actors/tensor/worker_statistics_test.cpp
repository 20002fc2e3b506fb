#include "actors/tensor/worker_statistics.hpp"

#include <doctest/doctest.h>

#include <map>

#include "tests/actors/stage.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

ordered_batch ended_batch(uint64_t batch, std::vector<failure> parts) {
  ordered_batch b;
  b.order.batch = batch_id{batch};
  b.order.requests.resize(parts.size());
  b.parts.resize(parts.size());
  for (size_t i = 0; i < parts.size(); ++i) b.parts[i].error = parts[i];
  return b;
}

batch_outcome outcome_between(double from, double to) {
  batch_outcome o;
  o.started_at = at(from);
  o.finished_at = at(to);
  return o;
}

std::map<std::string, double> metric_values(const worker_statistics& s) {
  std::vector<metric> all;
  s.report(slot_id{3}, 2, all);
  std::map<std::string, double> out;
  for (const auto& m : all) {
    CHECK(m.labels.at(0).second == "3");
    out[m.labels.size() > 1 ? m.labels[1].second : m.name] = m.value;
  }
  return out;
}

}  // namespace

TEST_CASE("worker statistics: a preempted batch counts as busy time, not as a batch") {
  worker_statistics s;
  const auto b = ended_batch(1, {failure::none, failure::none});
  s.on_ended(outcome_between(1, 5), true);
  s.on_preempted(b, outcome_between(1, 5));
  s.on_ended(outcome_between(5, 8), false);
  s.on_answered(b, 2, outcome_between(5, 8));
  s.on_refused(b.order, refusal::late, at(9));
  CHECK(s.batches() == 1);
  CHECK(s.rows() == 2);
  CHECK(s.busy() == 7ms);
  auto v = metric_values(s);
  CHECK(v["troupe_worker_preempted_seconds_total"] == doctest::Approx(0.004));
  CHECK(v["troupe_worker_busy_seconds_total"] == doctest::Approx(0.007));
  CHECK(v["troupe_worker_orders"] == 2);
  CHECK(v["preempted"] == 1);
  CHECK(v["late"] == 1);
  CHECK(v["busy"] == 0);
}

TEST_CASE("worker statistics: a trace has the newest batches, answered or preempted, and counts the others") {
  worker_statistics s;
  CHECK_FALSE(s.take_trace(10));
  s.on_refused(ended_batch(1, {failure::none}).order, refusal::late, at(1));  // before it starts
  s.start_trace(2);
  s.on_refused(ended_batch(2, {failure::none}).order, refusal::late, at(1));
  s.on_preempted(ended_batch(3, {failure::none, failure::stale_memory}), outcome_between(1, 5));
  s.on_answered(ended_batch(4, {failure::none}), 1, outcome_between(5, 8));
  auto t = s.take_trace(1);
  REQUIRE(t);
  CHECK(t->lost == 1);
  CHECK(t->more);
  REQUIRE(t->batches.size() == 1);
  CHECK(t->batches[0].batch == batch_id{3});
  CHECK(t->batches[0].refused == "preempted");
  CHECK(t->batches[0].rows == 1);
  CHECK(t->batches[0].requests == 2);
  t = s.take_trace(9);
  CHECK(t->lost == 0);
  CHECK_FALSE(t->more);
  CHECK(t->batches.at(0).refused.empty());
  CHECK(t->batches.at(0).times.finished_at == at(8));
  s.stop_trace();
  CHECK_FALSE(s.take_trace(9));
}
