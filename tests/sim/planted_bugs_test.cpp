#include <set>

#include "actors/common/planted_bug.hpp"
#include "tests/sim/leader_deaths.hpp"
#include "tests/sim/small_cluster.hpp"

using namespace troupe;
using namespace troupe::sim;

namespace {

constexpr uint64_t seeds = 60;
// Without a bug every seed is run, which takes up to ten seconds under ThreadSanitizer.
#ifdef __SANITIZE_THREAD__
constexpr uint64_t seeds_without_bug = 6;
#else
constexpr uint64_t seeds_without_bug = seeds;
#endif

workload_spec many_small_requests(const cluster_spec& c) {
  auto w = small_workload(c, 1500ms);
  for (auto& m : w.models) {
    m.rate_rps *= 20;
    m.latency = {50us, 300us};
  }
  return w;
}

world_result three_faults(uint64_t seed) { return faulty_run(seed); }

/// Outputs are overwritten while a reader is unreachable: their worker loses its scheduler, begins a new
/// incarnation, and runs other batches before the reader is notified.
world_result distant_reader(uint64_t seed) {
  const auto c = small_cluster();
  auto w = many_small_requests(c);
  // Nodes that lost each other reconnect with the next hello, sent once a second.
  const auto at = 500ms + seed % 50 * 10ms;
  w.faults.push_back({fault_kind::delay, at, 500ms, frontend_node, left, 140ms});
  w.faults.push_back({fault_kind::cut, at + 5ms, 5ms, head, left});
  return run(c, w, {.seed = seed});
}

/// Completions are lost while the scheduler learns that the batch is done, and the worker dies before it
/// learns that they are: only the timeout ends these requests.
world_result lost_answers(uint64_t seed) {
  const auto c = small_cluster();
  auto w = many_small_requests(c);
  for (const auto& [at, worker] : {std::pair{400ms, left}, {900ms, right}}) {
    w.faults.push_back({fault_kind::cut, at + seed * 1ms, 20ms, frontend_node, worker});
    w.faults.push_back({fault_kind::restart, at + seed * 1ms + 10ms, 200ms, worker, worker});
  }
  return run(c, w, {.seed = seed});
}

/// More requests than the models' batches take, without faults.
world_result crowded(uint64_t seed) {
  auto c = small_cluster();
  for (auto& m : c.models) m.max_batch = 2;
  return run(c, many_small_requests(c), {.seed = seed});
}

/// Requests of three shapes, without faults.
world_result of_three_shapes(uint64_t seed) {
  auto c = small_cluster();
  for (auto& m : c.models) m.any_shape = true;
  auto w = many_small_requests(c);
  for (auto& m : w.models) m.shapes = 3;
  return run(c, w, {.seed = seed});
}

/// More load than the slots can take, without faults.
world_result overloaded_run(uint64_t seed) {
  const auto c = small_cluster();
  auto w = small_workload(c, 500ms);
  for (auto& m : w.models) m.rate_rps *= 10;
  return run(c, w, {.seed = seed});
}

/// Requests that kill their worker, with deadlines that allow for several attempts.
world_result poisonous(uint64_t seed) {
  const auto c = small_cluster();
  auto w = small_workload(c, 1500ms);
  for (auto& m : w.models) m.slo = 2s;
  for (const auto at : {100ms, 500ms, 900ms})
    w.faults.push_back({fault_kind::poison, at, {}, frontend_node, frontend_node});
  w.faults.push_back({fault_kind::poison, 110ms, {}, head, head});
  return run(c, w, {.seed = seed});
}

/// Schedulers die one after the other while a poison request crashes workers.
world_result poison_and_failover(uint64_t seed) {
  const auto c = standby_cluster(2);
  return run(c, poison_and_leader_deaths(c, seed), {.seed = seed});
}

/// A model is retired while batches run without waiting clients: all clients hang up.
world_result retiring_unwatched(uint64_t seed) {
  const auto c = small_cluster();
  auto w = small_workload(c, 1s);
  model_spec slow;
  slow.name = "slow";
  for (auto at = 200ms; at < 900ms; at += 200ms) {
    w.changes.push_back({change_event::kind::undeploy, at + seed * 1ms, slow, {}, {}});
    w.changes.push_back({change_event::kind::redeploy, at + 100ms, slow, {}, {}});
  }
  return run(c, w, {.seed = seed, .hang_up = 1});
}

/// A tenant requests much more than its quota, and hangs up on half of the accepted requests.
world_result impatient_tenant(uint64_t seed) {
  auto c = small_cluster();
  c.policy.batching = "eager";
  c.tenants.resize(1);
  c.tenants[0].concurrency = 2;
  auto w = small_workload(c, 1s);
  for (auto& m : w.models) {
    m.rate_rps = 2000;
    m.slo = 30ms;
  }
  w.tenants = {1};
  return run(c, w, {.seed = seed, .hang_up = 1});
}

/// The scheduler drains while requests are on their way to it.
world_result leaving_scheduler(uint64_t seed) {
  const auto c = small_cluster();
  auto w = small_workload(c, 1s);
  w.faults.push_back({fault_kind::delay, 1ms, 900ms, head, frontend_node, 40ms});
  w.changes.push_back({change_event::kind::drain, 400ms + seed * 1ms, {}, head, 100ms});
  return run(c, w, {.seed = seed});
}

/// A model is undeployed while a gateway is away.
world_result undeployed_while_gateway_away(uint64_t seed) {
  const auto c = small_cluster();
  auto w = small_workload(c, 1s);
  model_spec slow;
  slow.name = "slow";
  w.faults.push_back({fault_kind::restart, 200ms, 2s, frontend_node, frontend_node});
  w.changes.push_back({change_event::kind::undeploy, 300ms + seed * 1ms, slow, {}, {}});
  return run(c, w, {.seed = seed});
}

/// A scheduler freezes with orders on their way, and resumes when a standby has taken over.
world_result frozen_scheduler(uint64_t seed) {
  auto c = standby_cluster();
  c.policy.batching = "eager";
  auto w = small_workload(c, 1s);
  for (auto& m : w.models) {
    m.rate_rps *= 6;
    m.slo = 1s;
  }
  w.faults.push_back({fault_kind::freeze, 300ms + seed * 3ms, 62ms + seed * 1ms, head, head});
  return run(c, w, {.seed = seed});
}

/// A scheduler freezes while its orders travel with a long delay: a standby has taken over when they arrive.
world_result orders_under_way(uint64_t seed) {
  auto c = standby_cluster();
  c.policy.batching = "eager";
  auto w = small_workload(c, 1s);
  for (auto& m : w.models) {
    m.rate_rps *= 4;
    m.slo = 1s;
  }
  for (const auto worker : {left, right})
    w.faults.push_back({fault_kind::delay, 200ms, 800ms, head, worker, 120ms});
  w.faults.push_back({fault_kind::freeze, 400ms + seed * 5ms, 200ms, head, head});
  return run(c, w, {.seed = seed});
}

/// A scheduler dies while every slot runs long batches.
world_result dying_scheduler(uint64_t seed) {
  auto c = standby_cluster();
  c.policy.batching = "eager";
  auto w = small_workload(c, 1s);
  for (auto& m : w.models) m.slo = 1s;
  w.faults.push_back({fault_kind::crash, 300ms + seed * 5ms, {}, head, head});
  return run(c, w, {.seed = seed});
}

/// Preempted batches, without faults.
world_result preempting(uint64_t seed) {
  const auto c = preempting_cluster();
  return run(c, bursts(c, 500ms), {.seed = seed});
}

/// The invariants that runs with the bug violate; stops when `wanted` is among them.
std::set<std::string> broken_by(bug b, const std::string& wanted, world_result (*play)(uint64_t)) {
  std::set<std::string> broken;
  planted_bug = b;
  const uint64_t last = b == bug::none ? seeds_without_bug : seeds;
  for (uint64_t seed = 1; seed <= last && !broken.contains(wanted); ++seed)
    for (const auto& v : play(seed).violations) broken.insert(v.check);
  planted_bug = bug::none;
  return broken;
}

bool breaks(bug b, const char* invariant, world_result (*play)(uint64_t) = three_faults) {
  return broken_by(b, invariant, play).contains(invariant);
}

}  // namespace

// A test for each kind of run, as these take the longest.
#define HOLDS_WITHOUT_A_BUG(play)                             \
  TEST_CASE("without a bug no invariant is broken: " #play) { \
    CHECK(broken_by(bug::none, "any", play).empty());         \
  }
HOLDS_WITHOUT_A_BUG(three_faults)
HOLDS_WITHOUT_A_BUG(crowded)
HOLDS_WITHOUT_A_BUG(of_three_shapes)
HOLDS_WITHOUT_A_BUG(overloaded_run)
HOLDS_WITHOUT_A_BUG(distant_reader)
HOLDS_WITHOUT_A_BUG(lost_answers)
HOLDS_WITHOUT_A_BUG(poisonous)
HOLDS_WITHOUT_A_BUG(poison_and_failover)
HOLDS_WITHOUT_A_BUG(retiring_unwatched)
HOLDS_WITHOUT_A_BUG(impatient_tenant)
HOLDS_WITHOUT_A_BUG(leaving_scheduler)
HOLDS_WITHOUT_A_BUG(undeployed_while_gateway_away)
HOLDS_WITHOUT_A_BUG(frozen_scheduler)
HOLDS_WITHOUT_A_BUG(orders_under_way)
HOLDS_WITHOUT_A_BUG(dying_scheduler)
HOLDS_WITHOUT_A_BUG(preempting)
#undef HOLDS_WITHOUT_A_BUG

TEST_CASE("the invariants detect a reader that does not verify pulled bytes") {
  CHECK(breaks(bug::skip_verify, "bytes", distant_reader));
}

TEST_CASE("the invariants detect a request with two outcomes") {
  CHECK(breaks(bug::double_outcome, "outcome"));
}

TEST_CASE("the invariants detect a ledger that misses drops") { CHECK(breaks(bug::miscount, "ledger")); }

TEST_CASE("the invariants detect a worker that starts a batch too late") {
  CHECK(breaks(bug::late_start, "late start"));
}

TEST_CASE("the invariants detect a batch that is too large for its model") {
  CHECK(breaks(bug::any_size, "batch size", crowded));
}

TEST_CASE("the invariants detect a batch of different shapes") {
  CHECK(breaks(bug::mixed_shapes, "one shape a batch", of_three_shapes));
}

TEST_CASE("the invariants detect a worker that starts a second batch") {
  CHECK(breaks(bug::two_batches, "one batch a slot"));
}

TEST_CASE("the invariants detect a queue that does not report drops, in runs without faults") {
  CHECK(breaks(bug::lose_drops, "fault free", overloaded_run));
}

TEST_CASE("the invariants detect a slot that is never released") { CHECK(breaks(bug::leak_slot, "memory")); }

TEST_CASE("the invariants detect a queue that lets poison kill worker after worker") {
  CHECK(breaks(bug::trust_everybody, "poison", poisonous));
}
TEST_CASE("the invariants detect a gateway that does not tell a new leader of suspects") {
  CHECK(breaks(bug::forget_suspects, "poison", poison_and_failover));
}

TEST_CASE("the invariants detect an actor that throws, and its process ends") {
  CHECK(breaks(bug::throw_up, "exception"));
}

TEST_CASE("the invariants detect a gateway that waits forever") {
  CHECK(breaks(bug::no_expiry, "outcome", lost_answers));
}

TEST_CASE("the invariants detect a worker that unloads a running model") {
  CHECK(breaks(bug::early_unload, "loaded", retiring_unwatched));
}

TEST_CASE("the invariants detect a node that leaves without its peers' leave acks") {
  CHECK(breaks(bug::hasty_leave, "drain", leaving_scheduler));
}

TEST_CASE("the invariants detect a node that misses a deployment") {
  CHECK(breaks(bug::keep_log, "deployment", undeployed_while_gateway_away));
}

TEST_CASE("the invariants detect a gateway that forgets late requests of a tenant") {
  CHECK(breaks(bug::leave_early, "quota", impatient_tenant));
}

TEST_CASE("the invariants detect a worker that obeys a deposed scheduler") {
  CHECK(breaks(bug::obey_anybody, "one term a slot", orders_under_way));
}

TEST_CASE("the invariants detect a new leader that grants before the handovers") {
  CHECK(breaks(bug::hasty_leader, "once at a time", dying_scheduler));
}

TEST_CASE("the invariants detect a queue that forgets preempted requests") {
  CHECK(breaks(bug::forget_preempted, "fault free", preempting));
}

TEST_CASE("the invariants detect a worker that reports a stopped batch as done") {
  CHECK(breaks(bug::answer_stopped, "bytes", preempting));
}
