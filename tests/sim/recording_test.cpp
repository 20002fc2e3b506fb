#include "tools/sim/recording.hpp"

#include "tests/sim/small_cluster.hpp"

using namespace troupe;
using namespace troupe::sim;

TEST_CASE("recording: a recorded run equals the unrecorded one, in true time in spite of clock offsets") {
  const auto cluster = small_cluster();
  const auto workload = small_workload(cluster);
  const auto plain = run(cluster, workload, {.seed = 3});
  const auto recorded = run(cluster, workload, {.seed = 3, .record = true});
  CHECK(recorded.violations.empty());
  CHECK(recorded.trace_hash == plain.trace_hash);
  CHECK(plain.records.requests.empty());
  const auto& r = recorded.records;
  CHECK(r.lost == 0);
  CHECK(r.requests.size() == recorded.total.offered);
  REQUIRE(r.batches.size() > 50);

  // Clocks drift apart by up to 100 ppm for some 200 ms until the collection, and a worker's time of
  // receiving an order is early by up to the error of the lane's clock conversion.
  constexpr duration tolerance = 100us;
  std::map<std::pair<model_id, batch_id>, const batch_trace*> batches;
  for (const auto& b : r.batches) {
    const auto& t = b.what.times;
    CHECK(t.ordered_at <= t.received_at + tolerance);
    CHECK(t.received_at <= t.inputs_at);
    CHECK(t.started_at < t.finished_at);
    batches[{b.what.model, b.what.batch}] = &b.what;
  }
  for (const auto& x : r.requests) {
    const auto& q = x.what;
    CHECK(q.arrival <= q.accepted_at);
    CHECK(q.accepted_at <= q.answered_at);
    if (q.batch == batch_id{}) continue;
    const auto it = batches.find({q.model, q.batch});
    REQUIRE(it != batches.end());
    CHECK(q.accepted_at <= it->second->times.ordered_at + tolerance);
    CHECK(it->second->times.finished_at <= q.completed_at + tolerance);
  }
}
