// A worker when the leader changes.
#include "tests/actors/leaders.hpp"
#include "tests/actors/tensor/worker_stage.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

/// Requests without bytes, and a known leader.
struct leadership_worker : basic_worker_stage<> {
  leadership_worker() {
    load(0, 0);
    deliver(node_up{gateway_node, {11}});
    deliver(node_up{scheduler_node, {10}});
    deliver(node_up{standby_node, standby_incarnation});
    deliver(first);
    CHECK(out.take<handover>().size() == 1);
  }
  void order(uint64_t batch, uint64_t id, const leadership& by) {
    request r;
    r.id = request_id{id};
    r.gateway = the_gateway;
    deliver(batch_order{{batch},
                        by.term,
                        model_id{0},
                        slot_id{0},
                        {by.scheduler, by.incarnation, role::model_queue, 0},
                        now,
                        now,
                        never,
                        {r}});
  }
};

}  // namespace

TEST_CASE(
    "leadership, gpu_worker: it hands over the running batch, drops waiting orders, and refuses late ones") {
  leadership_worker w;
  w.order(1, 1, first);
  w.order(2, 2, first);
  w.out.forget();
  w.deliver(second);
  const auto said = w.out.take_addressed<handover>();
  REQUIRE(said.size() == 1);
  CHECK(said[0].first == standby_arbiter);
  const auto& h = said[0].second;
  CHECK(h.term == second.term);
  CHECK(h.worker == worker_of(0));
  CHECK(h.batch == batch_id{1});
  REQUIRE(h.requests.size() == 1);
  CHECK(h.requests[0].id == request_id{1});
  w.order(3, 3, first);
  CHECK(w.out.take<batch_done>().front().refused == refusal::old_term);
  w.order(4, 4, second);
  w.run_until(at(6));  // the end of the first batch is reported to the new scheduler
  for (const auto& [to, d] : w.out.take_addressed<batch_done>()) {
    CHECK(to.node == standby_node);
    CHECK(d.batch == batch_id{1});
    CHECK(d.refused == refusal::none);
  }
  w.run_until(at(20));
  const auto done = w.out.take<batch_done>();
  REQUIRE_FALSE(done.empty());
  CHECK(done.front().batch == batch_id{4});  // nothing in between
}

TEST_CASE("leadership, gpu_worker: it hands over to a new scheduler that is up") {
  leadership_worker w;
  w.deliver(node_down{standby_node, standby_incarnation, true});
  w.deliver(second);
  CHECK(w.out.take<handover>().empty());
  w.deliver(node_up{standby_node, standby_incarnation});
  CHECK(w.out.one<handover>().batch == batch_id{});
}
