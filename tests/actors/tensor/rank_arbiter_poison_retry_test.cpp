// Requests that may kill their worker run alone on their node.
#include "tests/actors/tensor/arbiter_stage.hpp"

using namespace troupe;
using namespace troupe::test;

TEST_CASE("rank_arbiter: a poison retry waits until its worker is idle, and runs alone on it") {
  arbiter_stage a(2);  // of one node
  a.offer(0, 0, 100);
  a.answer(a.out.one<grant>(), 1, 10);
  a.poison_retry(1);
  a.offer(2, 0, 100);
  CHECK(a.out.silent());
  a.done(1, 0, 0, 10);
  const auto alone = a.out.one<grant>();
  CHECK(alone.alone);
  CHECK(alone.model == model_id{1});
  CHECK(alone.worker == worker_of(0));
  a.answer_alone(alone, 5);
  a.poison_retry(3);
  CHECK(a.out.silent());
  a.run_until(at(20));
  a.done(5, 1, 0, 20);
  const auto next = a.out.one<grant>();  // the other poison retry, before the node is given back
  CHECK(next.alone);
  CHECK(next.model == model_id{3});
  a.answer_alone(next, 6);
  a.done(6, 3, 0, 20);
  const auto after = a.out.one<grant>();
  CHECK_FALSE(after.alone);
  CHECK(after.model == model_id{2});
}

TEST_CASE("rank_arbiter: an earlier grant runs before a poison retry") {
  arbiter_stage a;
  a.offer(0, 0, 100);
  const auto promised = a.out.one<grant>();
  a.poison_retry(1);
  CHECK(a.out.silent());
  a.answer(promised, 1, 10);
  CHECK(a.out.silent());
  a.done(1, 0, 0, 10);
  CHECK(a.out.one<grant>().alone);
}

TEST_CASE("rank_arbiter: the least busy node is kept free for a poison retry, and the others continue") {
  arbiter_stage a(2);
  auto elsewhere = has_all(2);
  elsewhere.worker.node = node_id{7};
  a.deliver(elsewhere);
  a.offer(0, 0, 100);
  a.answer(a.out.one<grant>(), 1, 10);
  a.poison_retry(1);
  CHECK(a.out.one<grant>().slot == slot_id{2});
  a.offer(2, 0, 100);
  CHECK(a.out.one<grant>().slot == slot_id{1});
}

TEST_CASE("rank_arbiter: a poison retry gets a node that has its model, even a busy one") {
  arbiter_stage a(2);
  a.deliver(ready_on(node_id{7}, 2));  // model 0 only
  a.offer(1, 0, 100);
  a.answer(a.out.one<grant>(), 1, 10);
  a.poison_retry(1);
  CHECK(a.out.silent());
  a.offer(0, 0, 100);
  CHECK(a.out.one<grant>().slot == slot_id{2});
  a.done(1, 1, 0, 10);
  const auto alone = a.out.one<grant>();
  CHECK(alone.alone);
  CHECK(alone.slot == slot_id{0});
}

TEST_CASE("rank_arbiter: poison retries of models on different nodes run on one node after the other") {
  arbiter_stage a(1);
  a.deliver(ready_on(node_id{7}, 2));  // model 0 only
  a.poison_retry(1);
  const auto first = a.out.one<grant>();
  CHECK(first.slot == slot_id{0});
  a.answer_alone(first, 5);
  auto only_here = ready_on(node_id{8}, 3);
  only_here.models[0].model = model_id{9};
  a.deliver(only_here);
  a.poison_retry(9);
  CHECK(a.out.silent());
  a.done(5, 1, 0, 10);
  const auto second = a.out.one<grant>();
  CHECK(second.alone);
  CHECK(second.slot == slot_id{3});
  a.offer(1, 0, 100);
  CHECK(a.out.one<grant>().slot == slot_id{0});  // given back
}

TEST_CASE("rank_arbiter: a poison retry of a model without a node delays no other, and takes no node") {
  arbiter_stage a(1);
  a.poison_retry(9);
  a.offer(0, 0, 100);
  CHECK_FALSE(a.out.one<grant>().alone);
  arbiter_stage b(1);
  b.poison_retry(9);
  b.poison_retry(1);
  CHECK(b.out.one<grant>().model == model_id{1});
}

TEST_CASE("rank_arbiter: a grant to a removed queue does not delay a poison retry") {
  arbiter_stage a;
  a.offer(0, 0, 100);
  CHECK(a.out.take<grant>().size() == 1);
  SUBCASE("its node died") { a.deliver(node_down{scheduler_node, {10}}); }
  SUBCASE("its model was undeployed") {
    a.deliver(model_change{{3, model_id{0}, deployment_state::undeployed, {}}});
  }
  a.deliver(candidate{model_id{1}, 1, 1, a.now, never, {}, true}, queue_of(1, 11));
  CHECK(a.out.one<grant>().alone);
}

TEST_CASE("rank_arbiter: the death of a poison retry's worker ends its quarantine") {
  arbiter_stage a;
  a.poison_retry(1);
  a.answer_alone(a.out.one<grant>(), 5);
  a.deliver(node_down{worker_node, {12}});
  a.deliver(ready(0, 13));
  a.offer(0, 0, 100);
  const auto g = a.out.one<grant>();
  CHECK_FALSE(g.alone);
  CHECK(g.worker == worker_of(0, 13));
}

TEST_CASE("rank_arbiter: a poison retry that ran or was cancelled frees its node") {
  arbiter_stage a;
  a.poison_retry(1);
  const auto g = a.out.one<grant>();
  SUBCASE("its queue has none left") {
    a.deliver(occupied{g.model, g.sequence, g.slot, {}, a.now, true}, queue_of(1));
  }
  SUBCASE("it ran") {
    a.answer_alone(g, 5);
    a.done(5, 1, 0, 3);
  }
  a.offer(0, 0, 100);
  CHECK_FALSE(a.out.one<grant>().alone);
}

TEST_CASE("rank_arbiter: a withdrawn poison retry leaves the slots of its node as busy as before") {
  arbiter_stage a;
  const auto withdraw = [&] {
    a.deliver(candidate{model_id{1}, ++a.sequence, 0, a.now, never, {}, true}, queue_of(1));
  };
  a.offer(0, 0, 100, 2ms);
  const auto first = a.out.one<grant>();
  SUBCASE("while a grant is unanswered") {
    a.poison_retry(1);
    withdraw();
    a.offer(2, 0, 100);
    CHECK(a.out.silent());
    a.answer(first, 1, 10);
  }
  SUBCASE("while a batch runs") {
    a.answer(first, 1, 10);
    a.poison_retry(1);
    withdraw();
    a.offer(2, 0, 100);
  }
  a.run_until(at(9));
  CHECK(a.out.silent());
  a.run_until(at(10));
  CHECK(a.out.one<grant>().model == model_id{2});
}

TEST_CASE("rank_arbiter: a poison retry withdrawn from a slot with two batches allows no third one") {
  arbiter_stage a;
  a.run_two();
  a.poison_retry(1);
  a.deliver(candidate{model_id{1}, ++a.sequence, 0, a.now, never, {}, true}, queue_of(1));
  a.offer(2, 0, 100);
  a.run_until(at(50));
  CHECK(a.out.silent());
  a.done(1, 0, 0, 50);
  a.run_until(at(60));
  CHECK(a.out.one<grant>().model == model_id{2});
}
