#include "tests/sim/small_cluster.hpp"

using namespace troupe;
using namespace troupe::sim;

TEST_CASE("why: a simulated cluster explains a request, and its run is the same without the question") {
  auto cluster = small_cluster();
  auto workload = small_workload(cluster);
  for (auto& m : workload.models) m.rate_rps *= 40;  // more than it can serve
  const auto plain = run(cluster, workload, {.seed = 3});
  const auto dropped = plain.models[0].first_dropped;
  REQUIRE(dropped != request_id{});

  const auto asked = run(cluster, workload, {.seed = 3, .why = dropped});
  CHECK(asked.trace_hash == plain.trace_hash);
  REQUIRE(asked.story);
  const auto& r = asked.story->request;
  CHECK(r.state == "dropped");
  CHECK(r.model_name == "quick");
  CHECK(r.taken_at >= r.arrival);
  REQUIRE(r.drops.size() == 1);
  CHECK(r.drops[0].rule == "batching");
  CHECK(r.drops[0].rows > 0);
  CHECK(r.drops[0].finish > r.deadline);  // which is the reason
  CHECK_FALSE(r.candidates.empty());

  cluster.policy.decision_log = 0;
  CHECK(run(cluster, workload, {.seed = 3}).trace_hash == plain.trace_hash);
}

TEST_CASE("why: the story of a finished request has its grant and the competing candidates") {
  const auto cluster = small_cluster();
  const auto workload = small_workload(cluster);
  const auto recorded = run(cluster, workload, {.seed = 3, .record = true});
  size_t with_grant = 0;
  for (size_t i = 0; i < recorded.records.requests.size() && with_grant == 0; i += 97) {
    const auto& t = recorded.records.requests[i].what;
    if (t.outcome != "finished") continue;
    const auto asked = run(cluster, workload, {.seed = 3, .why = t.id});
    REQUIRE(asked.story);
    const auto& s = *asked.story;
    CHECK(s.request.state == "finished");
    REQUIRE(s.request.batches.size() == 1);
    CHECK(s.request.batches[0].batch == t.batch);
    CHECK(s.request.batches[0].slot == t.slot);
    CHECK(s.request.batches[0].finished_at <= s.request.deadline);
    REQUIRE(s.grants.size() == 1);
    CHECK(s.grants[0].known);
    CHECK(s.grants[0].slot == t.slot);
    CHECK(s.grants[0].at <= s.request.batches[0].granted_at);
    ++with_grant;
  }
  CHECK(with_grant == 1);
}
