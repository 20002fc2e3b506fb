#include "actors/scaling/scale_planner.hpp"

#include "tests/actors/run_command.hpp"
#include "tests/actors/stage.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

/// Model 0 does not scale; model 1, "m", has 1 to 4 instances, each of which prefills 1,000 tokens a second.
struct planner_parts {
  cluster_spec cluster;
  planner_parts(autoscale_mode mode, bool apart) {
    cluster.nodes.resize(3);
    cluster.nodes[0].roles = {node_role::scheduler};
    cluster.nodes[2].roles = {node_role::standby};
    cluster.llms.resize(2);
    auto& m = cluster.llms[1];
    m.name = "m";
    m.scales = true;
    m.min_instances = 1;
    m.max_instances = 4;
    m.prefill_chunk = 100;
    m.max_sequences = 10;
    m.loop.mode = mode;
    m.prefill_instances = m.decode_instances = apart ? 1 : 0;
  }
};

struct planner_stage : planner_parts, stage<scale_planner> {
  explicit planner_stage(autoscale_mode mode = autoscale_mode::apply, bool apart = false)
      : planner_parts(mode, apart), stage({scheduler_node, {10}, role::scale_planner, 0}, cluster) {
    run_until(at(1000));
    deliver(node_up{scheduler_node, {10}});
  }

  void know(uint32_t ordered, uint32_t starting = 0, bool wants_more = false) {
    deliver(instances_known{{1}, true, ordered, starting, wants_more},
            {scheduler_node, {10}, role::parameter_pool, 0});
  }
  /// The orders after a load.
  std::vector<order_instances> load(double arriving_per_s, node_id from = scheduler_node) {
    measured_load l;
    l.model = {1};
    l.arriving_per_s = arriving_per_s;
    l.max_sequences = 10;
    l.max_kv_tokens = 1000;
    l.steps = {90ms, 1ms, 0ns};  // 100 tokens beside ten decodes take 100 ms
    deliver(l, {from, {}, role::llm_router, 1});
    return out.take<order_instances>();
  }
  /// "3 2": the orders of a time with this load, which are carried out.
  std::string run(duration time, double arriving_per_s) {
    std::string all;
    for (const auto end = now + time; now < end;) {
      for (const auto& o : load(arriving_per_s)) {
        all += (all.empty() ? "" : " ") + std::to_string(o.instances);
        if (!o.dry_run) know(o.instances);
      }
      run_until(now + 100ms);
    }
    return all;
  }
  scale_planner_state state() { return run_command<scale_planner_state>(*this, get_state{}); }
  std::vector<scaling_decision> decisions(uint32_t limit = 10, const std::string& model = {}) {
    return run_command<scaling_story>(*this, explain_scaling{limit, model}).decisions;
  }
};

}  // namespace

TEST_CASE("scale planner: it orders instances for the load, from the pool of its node") {
  planner_stage s;
  s.know(1);
  CHECK(s.load(700).empty());
  const auto orders = s.load(1500);  // 2.1 to 3
  REQUIRE(orders.size() == 1);
  CHECK(orders[0].model == llm_id{1});
  CHECK(orders[0].instances == 3);
  CHECK_FALSE(orders[0].dry_run);
  CHECK(s.load(1500).empty());  // they are ordered, although nothing has begun
  s.know(3, 2);
  CHECK(s.load(1500).empty());
  CHECK(s.run(5s, 1500).empty());
  CHECK(s.run(10s, 100) == "2 1");
}

TEST_CASE("scale planner: of a model that is disaggregated it orders both phases") {
  planner_stage s(autoscale_mode::apply, true);
  s.deliver(instances_known{{1}, true, 2, 0, false, 1}, {scheduler_node, {10}, role::parameter_pool, 0});
  const auto orders = s.load(1500);  // 111 tokens in 90 ms: 1.9 to 2.7 instances
  REQUIRE(orders.size() == 1);
  CHECK(orders[0].instances == 4);
  CHECK(orders[0].prefill == 3);
  CHECK(s.state().models.at(0).wanted_prefill == 3);
  const auto told = s.decisions(1);
  REQUIRE(told.size() == 1);
  CHECK(told[0].from_prefill == 1);
  CHECK(told[0].to_prefill == 3);
}

TEST_CASE("scale planner: without a number from the pool it decides nothing") {
  planner_stage s;
  CHECK(s.run(1s, 2000).empty());
  CHECK_FALSE(s.state().leads);
  s.know(1);
  CHECK(s.state().leads);
  CHECK(s.actor.state() == "leading");
  s.deliver(instances_known{{1}, false, 0, 0, false});  // another node leads
  CHECK(s.run(1s, 2000).empty());
  s.know(1);
  s.deliver(new_incarnation{{11}});
  CHECK(s.run(1s, 2000).empty());
  CHECK(s.actor.state() == "listening");
}

TEST_CASE("scale planner: an order that the pool ignored is given again") {
  planner_stage s;
  s.know(1);
  CHECK(s.load(1500).size() == 1);
  s.know(1);
  CHECK(s.load(1500).size() == 1);
}

TEST_CASE("scale planner: it listens to the router that gateways use") {
  planner_stage s;
  constexpr node_id standby{2};
  s.know(1);
  CHECK(s.load(1500, standby).empty());
  s.deliver(node_up{standby, {20}});
  CHECK(s.load(1500, standby).empty());
  s.deliver(node_down{scheduler_node, {10}});
  CHECK(s.load(1500).empty());
  CHECK(s.load(1500, standby).size() == 1);
}

TEST_CASE("scale planner: an operator's number holds until the load asks for another") {
  planner_stage s;
  s.know(1);
  CHECK(s.run(3s, 1500) == "3");
  s.know(4);
  CHECK(s.run(2s, 1500).empty());
  CHECK(s.run(1s, 1500) == "3");
  s.know(1);
  CHECK(s.run(3s, 1500) == "3");
}

TEST_CASE("scale planner: advice changes nothing, and is repeated only when it changes") {
  planner_stage s(autoscale_mode::advise);
  s.know(1);
  const auto orders = s.load(1500);
  REQUIRE(orders.size() == 1);
  CHECK(orders[0].dry_run);
  s.know(1, 1);
  CHECK(s.run(5s, 1500).empty());
  CHECK(s.state().models.at(0).ordered == 1);
  CHECK(s.state().models.at(0).wanted == 3);
  CHECK(s.value_of("troupe_scaling_wanted") == 3);
  s.know(2);  // an operator
  CHECK(s.run(5s, 1000).empty());
  CHECK(s.decisions().size() == 1);
  CHECK_FALSE(s.decisions()[0].applied);
}

TEST_CASE("scale planner: decisions are kept with their numbers and plans, the newest first") {
  planner_stage s;
  s.know(1);
  s.load(1500);
  s.deliver(instances_ordered{{1}, 3, {{{1, "a", 0.5}}, {}, {{{"leader", "a"}}}, {}}});
  s.know(3);
  s.run(3s, 100);
  const auto all = s.decisions();
  REQUIRE(all.size() == 2);
  CHECK(all[0].from == 3);
  CHECK(all[0].to == 2);
  CHECK(all[0].reason == "below");
  const auto& d = all[1];
  CHECK(d.model == "m");
  CHECK(d.applied);
  CHECK(d.from == 1);
  CHECK(d.to == 3);
  CHECK(d.reason == "above");
  CHECK(d.min == 3);
  CHECK(d.max == 3);
  CHECK(d.age == 3s);
  CHECK(d.arriving_per_s == 1500);
  REQUIRE(d.resources.size() == 3);
  CHECK(d.resources[0].resource == "prefill");
  CHECK(d.resources[0].of_instance == doctest::Approx(1000));
  CHECK(d.resources[0].low == 0.5);
  CHECK(d.resources[0].high == 0.7);
  CHECK(d.resources[0].min == 3);
  CHECK(d.resources[1].resource == "kv");
  REQUIRE(d.plan.starts.size() == 1);
  CHECK(d.plan.starts[0].node == "a");
  CHECK(s.decisions(1).size() == 1);
  CHECK(s.decisions(10, "other").empty());
  CHECK(s.value_of("troupe_scaling_arriving_tokens_per_second") == 100);
}

TEST_CASE("scale planner: it tells that a model has too few places") {
  planner_stage s;
  s.know(3, 1, true);
  CHECK(s.state().models.at(0).wants_more);
  CHECK(s.value_of("troupe_scaling_wants_more") == 1);
  s.know(3);
  CHECK(s.value_of("troupe_scaling_wants_more") == 0);
}
