// A queue with planned slots for its model.
#include "tests/actors/tensor/queue_stage.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

/// With an SLO of 50.
struct nexus_stage : basic_queue_stage<> {
  nexus_stage() : basic_queue_stage(options(), "nexus", "window") {
    deliver(ready(0));
    deliver(ready(1));
    out.forget();
  }
  static model_queue::options options() {
    auto o = paper_queue();
    o.parameters.slo = 50ms;
    o.load_report = 100ms;
    return o;
  }
  void plan(std::vector<uint32_t> slots, const address& from = the_arbiter) {
    backends b;
    for (const auto s : slots) b.of.push_back({slot_id{s}, 8, 1});
    deliver(b, from);
  }
  size_t granted(uint32_t slot) {
    grant_slot(slot);
    const auto orders = out.take<batch_order>();
    return orders.empty() ? 0 : orders[0].requests.size();
  }
};

}  // namespace

TEST_CASE("model_queue: a candidate has the slots with requests planned for them") {
  nexus_stage q;
  q.arrive(1);
  CHECK(q.out.one<candidate>().slots.empty());
  q.plan({0, 1});
  CHECK(q.out.one<candidate>().slots == std::vector{slot_id{0}});
  q.arrive(2);
  CHECK(q.out.one<candidate>().slots == std::vector{slot_id{0}, slot_id{1}});
  CHECK(q.granted(0) == 1);
  CHECK(q.out.one<candidate>().slots == std::vector{slot_id{1}});
  CHECK(q.granted(0) == 0);
  q.out.forget();
  CHECK(q.granted(1) == 1);
}

TEST_CASE("model_queue: requests planned for a removed slot run on other slots") {
  nexus_stage q;
  q.plan({0, 1});
  for (uint64_t id = 1; id <= 4; ++id) q.arrive(id);
  q.plan({1});
  q.out.forget();
  CHECK(q.granted(1) == 4);
  for (uint64_t id = 5; id <= 6; ++id) q.arrive(id);
  q.plan({});
  q.out.forget();
  CHECK(q.granted(0) == 2);
}

TEST_CASE("model_queue: backends from the arbiter of another domain are ignored") {
  nexus_stage q;
  q.plan({0});
  auto stranger = the_arbiter;
  stranger.index = 1;
  q.plan({1}, stranger);
  q.arrive(1);
  CHECK(q.out.one<candidate>().slots == std::vector{slot_id{0}});
  deployment line;
  line.model = model_id{0};
  line.wanted = deployment_state::deployed;
  line.domain = 1;
  q.out.forget();
  q.deliver(model_change{line});
  const auto sent = q.out.take_addressed<candidate>();
  REQUIRE_FALSE(sent.empty());
  CHECK(sent.back().first.index == 1);
  CHECK(sent.back().second.slots.empty());  // the new arbiter has planned none yet
}
