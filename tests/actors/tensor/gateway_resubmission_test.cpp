// Requests that a gateway submits again, because their bytes were lost or the own node joined again.
#include <doctest/doctest.h>

#include "tests/actors/tensor/gateway_stage.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

/// With deadlines after a second.
struct resubmission_stage : gateway_stage {
  void arrive(uint64_t id) {
    auto c = ask(id);
    c.asked.deadline = now + 1s;
    deliver(c);
    out.take<submit>();
  }
  void report_stale(uint64_t id, uint32_t attempt) {
    deliver(completion{{1}, 3, {{request_id{id}, attempt, failure::stale_memory, {}, {}}}}, worker_of(0));
  }
  /// The one request that was submitted.
  request submitted() { return out.one<submit>().requests.at(0); }
};

}  // namespace

TEST_CASE("gateway: a request whose input could not be pulled is submitted again, with the same input") {
  resubmission_stage g;
  g.arrive(1);
  g.report_stale(1, 1);
  const auto again = g.submitted();
  CHECK(again.id == request_id{1});
  CHECK(again.attempt == 2);
  CHECK(again.input);
  CHECK(g.memory.in_use() == 1);  // that input
  g.report_stale(1, 1);           // the queue's report of the same attempt
  CHECK(g.out.take<submit>().empty());
  CHECK(g.open(1));
  g.complete(1);
  g.end_pull();
  CHECK(g.outcome_of(1).kind == outcome_kind::finished);
  CHECK(g.value_of("troupe_requests_submitted_again_total") == 1);
  g.check_clean();
}

TEST_CASE("gateway: the attempt is later than those that the queue has counted") {
  resubmission_stage g;
  g.arrive(1);
  g.report_stale(1, 3);
  CHECK(g.submitted().attempt == 4);
  g.drop(1, drop_reason::late);
  g.check_clean();
}

TEST_CASE("gateway: a request whose output is gone or lost during its pull is submitted again") {
  resubmission_stage g;
  for (const auto status : {pull_status::ok, pull_status::lost}) {
    const uint64_t id = status == pull_status::ok ? 1 : 2;
    g.arrive(id);
    g.complete(id);
    CHECK(g.memory.in_use() == 1);  // its input
    if (status == pull_status::ok) g.far.give_back(g.memory.pulls[0].region);
    g.end_pull(status);
    CHECK(g.submitted().attempt == 2);
    g.complete(id);
    g.end_pull();
    CHECK(g.outcome_of(id).kind == outcome_kind::finished);
  }
  g.check_clean();
}

TEST_CASE("gateway: while that repeats, it pauses, and at last the request fails") {
  resubmission_stage g;
  g.arrive(1);
  uint32_t attempt = 1;
  std::vector<duration> waits;
  while (g.open(1)) {
    const auto reported = g.now;
    g.report_stale(1, attempt);
    if (!g.open(1)) break;
    auto sent = g.out.take<submit>();
    for (; sent.empty(); sent = g.out.take<submit>()) g.run_until(g.actor.next_wakeup());
    waits.push_back(g.now - reported);
    attempt = sent.at(0).requests.at(0).attempt;
  }
  CHECK(waits == std::vector<duration>{0ms, 20ms, 40ms, 80ms, 160ms, 320ms});
  CHECK(g.outcome_of(1).error == failure::stale_memory);
  g.arrive(2);
  g.complete(2);
  g.run_until(g.now + 1s);  // its deadline
  g.end_pull(pull_status::lost);
  CHECK(g.outcome_of(2).error == failure::worker_lost);
  g.check_clean();
}

TEST_CASE("gateway: a request that waits to be submitted again can be cancelled") {
  resubmission_stage g;
  g.arrive(1);
  g.report_stale(1, 1);
  g.report_stale(1, g.submitted().attempt);
  g.deliver(client_gone{request_id{1}});
  CHECK(g.outcome_of(1).reason == drop_reason::cancelled);
  g.run_until(g.now + 2s);
  CHECK(g.out.take<submit>().empty());
  g.check_clean();
}

TEST_CASE("gateway: requests go on in the next incarnation of its node") {
  resubmission_stage g;
  for (uint64_t id = 1; id <= 3; ++id) g.arrive(id);
  g.complete(2);  // being pulled
  g.deliver(new_incarnation{{40}});
  g.arrive(4);  // accepted meanwhile
  CHECK(g.out.take<submit>().empty());
  g.end_pull(pull_status::lost);
  g.deliver(node_up{scheduler_node, {10}});
  const auto requests = g.out.one<submit>().requests;
  REQUIRE(requests.size() == 4);
  for (const auto& r : requests) {
    CHECK(r.gateway.incarnation == incarnation_id{40});
    CHECK(r.attempt >= 2);
    g.complete(r.id.value);
  }
  while (!g.memory.pulls.empty()) g.end_pull();
  for (uint64_t id = 1; id <= 4; ++id) CHECK(g.outcome_of(id).kind == outcome_kind::finished);
  g.check_clean();
}
