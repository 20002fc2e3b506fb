// A gateway that loads adapters on all engines of a model.
#include "actors/llm/gateway.hpp"

#include "tests/actors/llm/gateway_stage.hpp"

using namespace troupe;
using namespace troupe::test;

TEST_CASE("llm gateway: a new engine gets the adapters of the other engines") {
  llm_gateway_stage g;
  g.report_ready(first_engine);
  g.deliver(adapters_known{{}, first_engine, true, {{"a", "/a"}, {"b", "/b"}}, {}}, the_engine);
  CHECK(g.out.take<change_adapter>().empty());
  g.deliver(change_adapter{6, {}, false, {"b", ""}});  // it goes
  g.out.forget();
  const address other{other_node, {13}, role::llm_engine, 1};
  g.deliver(node_up{other_node, {13}});
  g.out.forget();
  g.deliver(adapters_known{{}, second_engine, true, {{"c", "/c"}}, {}}, other);
  const auto loads = g.out.take_addressed<change_adapter>();
  REQUIRE(loads.size() == 1);
  CHECK(loads[0].first == address{other_node, {}, role::llm_engine, 1});
  CHECK(loads[0].second.load);
  CHECK(loads[0].second.adapter == adapter_entry{"a", "/a"});
  g.deliver(troupe::adapter_changed{0, adapter_answer::refused, "no such file"}, other);
  CHECK(g.changes.empty());
}

TEST_CASE("llm gateway: all engines of a model have an adapter, or none") {
  llm_gateway_stage g;
  g.deliver(node_up{other_node, {13}});
  const address other{other_node, {13}, role::llm_engine, 1};
  g.report_ready(first_engine);
  g.report_ready(second_engine);
  g.deliver(change_adapter{5, {}, true, {"b", "/b"}});
  CHECK(g.out.take<change_adapter>().size() == 2);
  g.deliver(troupe::adapter_changed{5, adapter_answer::done, {}}, the_engine);
  CHECK(g.changes.empty());
  g.deliver(troupe::adapter_changed{5, adapter_answer::refused, "no such file"}, other);
  REQUIRE(g.changes.size() == 1);
  CHECK(g.changes[0].message == "no such file");
  const auto back = g.out.take_addressed<change_adapter>();
  REQUIRE(back.size() == 1);
  CHECK(back[0].first.node == worker_node);
  CHECK_FALSE(back[0].second.load);
  g.deliver(change_adapter{6, {}, false, {"b", "/b"}});
  g.deliver(troupe::adapter_changed{6, adapter_answer::unknown, {}}, other);
  g.deliver(troupe::adapter_changed{6, adapter_answer::done, {}}, the_engine);
  REQUIRE(g.changes.size() == 2);
  CHECK(g.changes[1].answer == adapter_answer::done);
}
