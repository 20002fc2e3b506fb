#include "actors/tensor/rank_arbiter.hpp"

#include "policies/registry/matchmakings.hpp"
#include "tests/actors/tensor/command_stage.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

struct commanded_arbiter : command_stage<rank_arbiter> {
  commanded_arbiter() : command_stage(the_arbiter, make_matchmaking("lowest_id")) {
    for (uint32_t i = 0; i < 2; ++i) deliver(ready(i));
  }
  void offer(uint32_t model, uint64_t sequence) {
    deliver(candidate{model_id{model}, sequence, 1, now, now + 50ms, {}},
            {scheduler_node, {10}, role::model_queue, model});
  }
  void answer(const grant& g, uint64_t batch) {
    deliver(occupied{g.model, g.sequence, g.slot, {batch}, now + 10ms},
            {scheduler_node, {10}, role::model_queue, g.model.value});
  }
};

}  // namespace

TEST_CASE("rank_arbiter commands: a slot out of service is not granted until it is put back") {
  commanded_arbiter a;
  a.offer(0, 1);
  a.answer(a.out.one<grant>(), 1);  // slot 0 runs
  CHECK(a.order("take_slot_out", R"({"slot": 0})").ok);
  CHECK(a.order("take_slot_out", R"({"slot": 1})").ok);
  CHECK(a.out.take<slot_service>().size() == 2);
  a.offer(0, 2);
  a.run_until(at(30));
  CHECK(a.out.take<grant>().empty());
  auto s = a.ask<arbiter_state>("get_state");
  REQUIRE(s.slots.size() == 2);
  CHECK(s.slots[0].state == "out_of_service");
  CHECK(s.slots[0].orders == 1);
  REQUIRE(s.candidates.size() == 1);
  CHECK(s.candidates[0].rows == 1);
  a.deliver(ready(1, 13));  // a new incarnation does not put it back
  a.run_until(at(31));
  CHECK(a.out.take<grant>().empty());
  CHECK(a.order("put_slot_back", R"({"slot": 1})").ok);
  CHECK(a.out.one<slot_service>().in);
  CHECK(a.out.one<grant>().slot == slot_id{1});
  CHECK(a.order("put_slot_back", R"({"slot": 1})").body ==
        "put_slot_back.slot: this slot is not out of service");
  CHECK(a.order("take_slot_out", R"({"slot": 9})").body == "take_slot_out.slot: no such slot is up");
}

TEST_CASE("rank_arbiter commands: a slot that is put back during an open grant is not granted twice") {
  commanded_arbiter a;
  a.offer(0, 1);
  const auto open = a.out.one<grant>();
  a.order("take_slot_out", R"({"slot": 1})");
  a.order("take_slot_out", R"({"slot": 0})");
  a.order("put_slot_back", R"({"slot": 0})");
  a.answer(open, 1);
  a.offer(0, 2);
  a.run_until(at(9.9));
  CHECK(a.out.take<grant>().empty());
  a.run_until(at(10));
  CHECK(a.out.one<grant>().free_at == at(10));
}
