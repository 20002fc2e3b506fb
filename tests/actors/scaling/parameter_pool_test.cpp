#include "actors/scaling/parameter_pool.hpp"

#include "tests/actors/scaling/pool_stage.hpp"

using namespace troupe;
using namespace troupe::test;

using enum instance_stage;

TEST_CASE("parameter pool: a new cluster gets the instances of the file: one node reads, others follow it") {
  pool_stage s;
  s.start({1, 2, 3});
  CHECK(s.orders().empty());  // node d may have images
  s.bring_up(4);
  CHECK(s.run(1s) == "a<a b<a 0:serving 1:serving");
  CHECK(s.serving() == 2);
  CHECK(s.run(5s).empty());
  const auto state = s.state();
  CHECK(state.leads);
  CHECK(state.copies_placed == 2);
  REQUIRE(state.instances.size() == 4);
  CHECK(state.instances[0].stage == "serving");
  CHECK(state.instances[3].stage == "idle");
  CHECK(state.copies.size() == 2);
  CHECK(s.value_of("troupe_instances") == 2);
  CHECK(s.value_of("troupe_instances_wanted") == 2);
}

TEST_CASE("parameter pool: an engine is told to serve once its node's inventory lists the images") {
  pool_stage s;
  s.start();
  CHECK(s.orders() == "a<a b<a");
  s.run_until(s.now + 400ms);
  CHECK(s.orders().empty());
  s.workers[1].images = {{{0}, pool_image_chunks, 0, true, {1}, pool_image_bytes, 0, 0}};
  s.report(1);
  CHECK(s.orders() == "0:serving");
}

TEST_CASE("parameter pool: orders without effect are given again after 500 ms") {
  pool_stage s;
  s.start();
  CHECK(s.orders() == "a<a b<a");
  s.run_until(s.now + 460ms);
  CHECK(s.orders().empty());
  CHECK(s.orders() == "a<a b<a");
  for (const uint32_t n : {1, 2}) s.set(n, idle);
  CHECK(s.orders() == "0:serving 1:serving");
  s.run_until(s.now + 450ms);
  CHECK(s.orders().empty());
  s.run_until(s.now + 20ms);
  CHECK(s.orders() == "0:serving 1:serving");
}

TEST_CASE("parameter pool: a leader decides after a while although a node has not reported") {
  pool_stage s;
  s.start({1, 2});
  s.run_until(s.now + 1900ms);
  CHECK(s.orders().empty());
  CHECK(s.refusal("m", 1).find("does not know all nodes yet") != std::string::npos);
  s.run_until(s.now + 200ms);
  CHECK(s.orders() == "a<a b<a");
}

TEST_CASE("parameter pool: a model gets more instances over chains, and fewer again") {
  pool_stage s;
  s.start();
  s.run(1s);
  const auto plan = s.scale(4);
  REQUIRE(plan.starts.size() == 2);
  CHECK(plan.starts[0].engine == 2);
  CHECK(plan.starts[0].node == "c");
  CHECK(plan.starts[0].predicted_s > 0);
  CHECK(plan.stops.empty());
  CHECK(plan.reads.empty());
  REQUIRE(!plan.chains.empty());
  size_t targets = 0;
  for (const auto& c : plan.chains) targets += c.nodes.size() - 1;
  CHECK(targets == 2);
  const auto orders = s.run(1s);
  for (const char* o : {"c<", "d<", "2:serving", "3:serving"}) CHECK(orders.find(o) != std::string::npos);
  CHECK(s.serving() == 4);
  CHECK(s.scale(1).stops.size() == 3);
  CHECK(s.run(1s) == "1:parked 2:parked 3:parked");
  CHECK(s.serving() == 1);
  CHECK(s.run(58s).empty());
  CHECK(s.state().copies.size() == 4);
  const auto later = s.run(5s);  // the park has ended
  for (const char* o : {"1:idle", "2:idle", "3:idle", "-b", "-c", "-d"})
    CHECK(later.find(o) != std::string::npos);
  CHECK(s.state().copies.size() == 1);
  CHECK(s.state().copies_dropped == 3);
  CHECK(s.run(60s).empty());
}

TEST_CASE("parameter pool: a parked instance serves again without any copy") {
  pool_stage s;
  s.start();
  s.run(1s);
  s.scale(1);
  s.run(1s);
  CHECK(s.scale(2).starts[0].predicted_s == 0);
  CHECK(s.run(1s) == "1:serving");
  CHECK(s.run(70s).empty());
}

TEST_CASE("parameter pool: without instances one copy stays, and requests start an instance of it") {
  pool_stage s;
  s.start();
  s.run(1s);
  s.deliver(want_instance{{0}});  // it has some
  CHECK(s.run(100ms).empty());
  s.scale(0);
  s.run(70s);
  CHECK(s.serving() == 0);
  CHECK(s.state().copies.size() == 1);
  s.deliver(want_instance{{1}});  // it does not scale
  CHECK(s.run(100ms).empty());
  s.deliver(want_instance{{0}});
  s.deliver(want_instance{{0}});
  s.run(1s);
  CHECK(s.serving() == 1);
  CHECK(s.value_of("troupe_instances_wanted") == 1);
  CHECK(s.state().copies_placed == 2);  // those of the start
}

TEST_CASE("parameter pool: a dry run changes nothing") {
  pool_stage s;
  s.start();
  s.run(1s);
  CHECK(s.scale(4, true).starts.size() == 2);
  CHECK(s.scale(0, true).stops.size() == 2);
  CHECK(s.run(2s).empty());
  CHECK(s.value_of("troupe_instances_wanted") == 2);
}

TEST_CASE("parameter pool: refusals of orders to scale tell the reason") {
  pool_stage s(true);
  s.cluster.llms[0].min_instances = 1;
  s.start();
  CHECK(s.refusal("m", 1) == "scale_model: node 'leader' is not the leader");
  s.lead(1);
  s.run(1s);
  CHECK(s.refusal("x", 1) == "scale_model: the cluster file has no [[llm]] 'x'");
  CHECK(s.refusal("fixed", 1) == "scale_model: 'fixed' does not scale: give its [[llm]] the key instances");
  CHECK(s.refusal("m", 0) ==
        "scale_model: 'm' has 1 to 4 instances by min_instances and max_instances, not 0");
  CHECK(s.refusal("m", 5).find("not 5") != std::string::npos);
  s.kill(3);
  s.workers[4].problem = "no device";
  s.report(4);
  CHECK(s.refusal("m", 3) ==
        "scale_model: only 2 of the 4 places of 'm' can serve: the others' nodes are away, full or cannot "
        "load it");
  CHECK(s.run(1s).empty());
  CHECK(s.state().instances[2].stage == "away");
  CHECK(s.state().instances[3].stage == "unusable");
}

TEST_CASE("parameter pool: places without room for the images are not counted as able to serve") {
  pool_stage s;
  s.start();
  s.run(1s);
  for (const uint32_t n : {3, 4}) s.workers[n].capacity = 50, s.report(n);
  CHECK(s.refusal("m", 3).starts_with("scale_model: only 2 of the 4 places of 'm' can serve"));
}

TEST_CASE("parameter pool: only the leader's pool orders, and a new leader goes on with what there is") {
  pool_stage s(true);
  s.start();
  CHECK(s.run(3s).empty());
  CHECK(s.actor.state() == "listening");
  CHECK(s.actor.next_wakeup() == never);
  for (const uint32_t n : {1, 2, 3}) s.set(n, serving);
  s.lead(7);
  CHECK(s.run(3s).empty());
  CHECK(s.value_of("troupe_instances_wanted") == 3);
  s.scale(1);
  s.run_until(s.now + 20ms);
  const auto stages = s.out.take<set_stage>();
  REQUIRE(stages.size() == 2);
  CHECK(stages[0].term == term_id{7});
  s.deliver(leadership{{8}, pool_standby, {50}});
  CHECK(s.run(3s).empty());
  CHECK(s.refusal("m", 1).find("not the leader") != std::string::npos);
  s.workers[3].stage = draining;
  s.report(3);
  s.lead(9);  // two are left, as it sees
  s.run(1s);
  CHECK(s.serving() == 2);
}

TEST_CASE("parameter pool: a new leader keeps a model without instances at its minimum") {
  pool_stage s(true);
  s.start();
  s.set(1, idle);
  s.lead(1);
  CHECK(s.run(1s).empty());
  CHECK(s.value_of("troupe_instances_wanted") == 0);
}

TEST_CASE("parameter pool: an instance on a node that dies or leaves is replaced") {
  pool_stage s;
  s.start();
  s.run(1s);
  SUBCASE("dies") {
    s.deliver(node_down{node_id{1}, {1}});  // an earlier incarnation
    CHECK(s.run(1s).empty());
    s.kill(1);
    CHECK(s.run(1s) == "c<b 2:serving");
    s.bring_up(1);
    CHECK(s.run(1s).empty());
  }
  SUBCASE("leaves") {
    s.deliver(node_leaving{node_id{1}, {101}});
    const auto orders = s.run(1s);
    CHECK(orders.find("2:serving") != std::string::npos);
    CHECK(s.serving() == 3);
    s.kill(1);
    CHECK(s.run(1s).empty());
  }
  CHECK(s.serving() == 2);
}

TEST_CASE("parameter pool: a copy whose source dies gets another one") {
  pool_stage s;
  s.start();
  s.run(1s);
  s.scale(4);
  s.run(50ms);
  REQUIRE(s.image(3));
  CHECK_FALSE(s.image(3)->complete());
  const auto source = s.image(3)->from.value;
  s.kill(source);
  s.run(2s);
  CHECK(s.image(3)->complete());
  CHECK(s.state().relinked > 0);
  CHECK(s.serving() == 3);
}

TEST_CASE("parameter pool: a node without room is passed over, and tried again after a pause") {
  pool_stage s;
  s.start({1, 2});
  s.place_problem = "no room";
  s.run(3s);
  const auto first = s.state();
  CHECK(first.copies_dropped <= 2);
  CHECK(first.copies_placed <= 6);
  CHECK(first.copies.size() == 2);
  CHECK(first.copies[0].problem == "no room");
  CHECK(s.run(5s).empty());
  s.place_problem.clear();
  s.run(12s);
  CHECK(s.serving() == 2);
}

TEST_CASE("parameter pool: images of an engine that is about to serve are not dropped") {
  pool_stage s;
  s.cluster.scaling.copies = 4;
  s.start();
  s.run(1s);
  CHECK(s.state().copies.size() == 4);
  s.cluster.scaling.copies = 1;
  s.scale(4);
  CHECK(s.orders() == "2:serving 3:serving");
}

TEST_CASE("parameter pool: serverless nodes read their own disks, and drop what was not used for a time") {
  pool_stage s;
  s.cluster.scaling.policy = scaling_policy::serverless;
  s.cluster.scaling.copies = 0;
  s.cluster.scaling.keep = 100s;
  s.start();
  CHECK(s.run(1s) == "a<a b<b 0:serving 1:serving");
  s.scale(1);
  CHECK(s.run(1s) == "1:parked");
  CHECK(s.run(65s) == "1:idle");
  s.scale(2);
  CHECK(s.run(1s) == "1:serving");  // the images are still there
  s.scale(1);
  CHECK(s.run(55s) == "1:parked");
  CHECK(s.run(10s) == "1:idle -b");  // no request came since they were loaded
  CHECK(s.run(200s).empty());
}

TEST_CASE("parameter pool: engines that load by themselves need no images") {
  pool_stage s(false, 0);
  s.start();
  CHECK(s.orders() == "0:serving 1:serving");
}

TEST_CASE("parameter pool: a new incarnation of its node leads only when it is told again") {
  pool_stage s;
  s.start();
  s.run(1s);
  s.deliver(new_incarnation{{20}});
  CHECK_FALSE(s.state().leads);
  CHECK(s.state().copies.empty());
  s.deliver(node_up{scheduler_node, {20}});
  CHECK(s.run(500ms).empty());
  for (const uint32_t n : {1, 2, 3, 4}) s.report(n);
  CHECK(s.run(1s).empty());
  CHECK(s.serving() == 2);
  CHECK(s.value_of("troupe_instances_wanted") == 2);
}

TEST_CASE("parameter pool: a leader plans without shards that may still obey a former one") {
  pool_stage s(true);
  s.start();
  for (const uint32_t n : {1, 2, 3}) s.set(n, serving);
  s.lead(7);
  CHECK(s.run(3s).empty());
  s.deliver(leadership{{8}, scheduler_node, {10}});
  CHECK(s.refusal("m", 1).find("does not know all nodes yet") != std::string::npos);
  s.workers[3].stage = idle;
  CHECK(s.run(500ms).empty());  // their inventories are of term 7
  s.term = 8;
  s.report(1);
  CHECK(s.orders().empty());
  for (const uint32_t n : {2, 3, 4}) s.report(n);
  CHECK(s.orders() == "2:serving");
  s.deliver(leadership{{9}, scheduler_node, {10}});
  s.kill(3);
  CHECK(s.run(1900ms).empty());
  s.term = 9;
  s.report(4);
  CHECK(s.orders().empty());
  s.run_until(s.now + 200ms);
  CHECK(s.orders() == "d<d");  // the others stay away for too long
}

TEST_CASE(
    "parameter pool: predictions are by the rates that nodes have measured, also those of a new leader") {
  pool_stage s(true);
  for (const uint32_t n : {1, 2, 3, 4}) s.bring_up(n);
  s.set(1, serving);
  s.workers[2].rates = {{node_id{1}, 40}};
  s.workers[2].disk_gbit_per_s = 3;
  s.report(2);
  s.deliver(leadership{{7}, pool_standby, {50}});
  s.lead(8);
  s.run_until(s.now + 100ms);
  const auto plan = s.scale(2, true);
  REQUIRE(plan.starts.size() == 1);
  CHECK(plan.starts[0].node == "b");
  CHECK(plan.starts[0].predicted_s == doctest::Approx(pool_image_bytes * 8 / 40e9));
  const auto state = s.state();
  REQUIRE(state.links.size() == 1);
  CHECK(state.links[0].from == "a");
  CHECK(state.links[0].to == "b");
  CHECK(state.links[0].gbit_per_s == 40);
  REQUIRE(state.disks.size() == 1);
  CHECK(state.disks[0].node == "b");
  CHECK(state.disks[0].gbit_per_s == 3);
  CHECK(s.value_of("troupe_link_gbit_per_s") == 40);
  CHECK(s.value_of("troupe_disk_gbit_per_s") == 3);
  s.kill(2);
  s.bring_up(2);  // it has measured nothing yet
  CHECK(s.state().links.size() == 1);
}

TEST_CASE(
    "parameter pool: the scale planner of its node learns the instances of a model, and their changes") {
  pool_stage s(true);
  s.cluster.llms[0].loop.mode = autoscale_mode::apply;
  s.deliver(node_up{scheduler_node, {10}});
  for (uint32_t n = 1; n <= 4; ++n) s.bring_up(n);
  CHECK(s.out.take<instances_known>().empty());
  s.lead(1);
  s.run(20ms);
  const auto begun = s.out.take_addressed<instances_known>();
  REQUIRE(!begun.empty());
  CHECK(begun.back().first == address{scheduler_node, {}, role::scale_planner, 0});
  CHECK(begun.back().second == instances_known{{0}, true, 2, 2, false});
  s.run(1s);
  const auto served = s.out.take<instances_known>();
  REQUIRE(!served.empty());
  CHECK(served.back() == instances_known{{0}, true, 2, 0, false});
  s.run(10s);
  CHECK(s.out.take<instances_known>().empty());
  s.deliver(leadership{{2}, pool_standby, {20}});
  CHECK_FALSE(s.out.one<instances_known>().known);
}

TEST_CASE("parameter pool: an order of the scale planner is carried out and answered with its plan") {
  pool_stage s;
  s.cluster.llms[0].loop.mode = autoscale_mode::apply;
  s.start();
  s.run(1s);
  s.out.forget();
  s.deliver(order_instances{{0}, 3, true});
  const auto dry = s.out.one<instances_ordered>();
  CHECK(dry.instances == 3);
  REQUIRE(dry.plan.starts.size() == 1);
  CHECK(dry.plan.starts[0].node == "c");
  s.run(1s);
  CHECK(s.serving() == 2);
  s.deliver(order_instances{{0}, 3, false});
  CHECK(s.out.one<instances_ordered>().plan.chains.size() == 1);
  s.run(1s);
  CHECK(s.serving() == 3);
  CHECK(s.out.take<instances_known>().back().ordered == 3);
  s.deliver(order_instances{{1}, 3, false});  // it does not scale
  CHECK(s.out.take<instances_ordered>().empty());
}

TEST_CASE("parameter pool: instances without a place are wanted, and start when there is one") {
  pool_stage s;
  s.cluster.llms[0].loop.mode = autoscale_mode::apply;
  s.start();
  s.run(1s);
  s.kill(4);
  s.run(1s);
  s.out.forget();
  s.deliver(order_instances{{0}, 4, false});
  s.run(1s);
  CHECK(s.serving() == 3);
  CHECK(s.out.take<instances_known>().back() == instances_known{{0}, true, 4, 0, true});
  s.bring_up(4);
  s.run(1s);
  CHECK(s.serving() == 4);
  CHECK(s.out.take<instances_known>().back() == instances_known{{0}, true, 4, 0, false});
}

TEST_CASE("parameter pool: a planner whose order is ignored learns the number again") {
  pool_stage s(true);
  s.cluster.llms[0].loop.mode = autoscale_mode::apply;
  s.deliver(node_up{scheduler_node, {10}});
  for (uint32_t n = 1; n <= 4; ++n) s.bring_up(n);
  s.lead(1);
  s.run(1s);
  s.out.forget();
  s.deliver(leadership{{2}, scheduler_node, {10}});  // shards have not heard of this term
  s.deliver(order_instances{{0}, 4, false});
  CHECK(s.out.take<instances_ordered>().empty());
  s.term = 2;
  s.run(1s);
  const auto told = s.out.take<instances_known>();
  REQUIRE(!told.empty());
  CHECK(told.back().ordered == 2);
}
