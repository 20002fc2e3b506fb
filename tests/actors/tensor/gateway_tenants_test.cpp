// The quotas of tenants at a gateway.
#include "tests/actors/tensor/gateway_stage.hpp"

using namespace troupe;
using namespace troupe::test;

TEST_CASE("gateway: a tenant over its rate is refused at once with a time to retry") {
  auto o = gateway_stage::options(100);
  o.tenants = {"narrow"};
  gateway_stage g(o, {{10, 2, 0}});
  const auto ask = [&](uint64_t id, uint32_t tenant) {
    auto c = g.ask(id);
    c.asked.tenant = tenant;
    g.deliver(c);
  };
  for (uint64_t id = 1; id <= 3; ++id) ask(id, 1);
  ask(4, 0);
  CHECK(g.open(1));
  CHECK(g.open(2));
  CHECK(g.outcome_of(3).reason == drop_reason::quota);
  CHECK(g.outcome_of(3).retry_after == 100ms);
  CHECK(g.open(4));
  size_t submitted = 0;
  for (const auto& [to, s] : g.out.take_addressed<submit>()) submitted += s.requests.size();
  CHECK(submitted == 3);
  for (uint64_t id : {1, 2, 4}) g.drop(id, drop_reason::late);
  g.check_clean();
}

TEST_CASE("gateway: any outcome of a request frees its tenant's place in flight") {
  auto o = gateway_stage::options(100);
  o.tenants = {"narrow"};
  gateway_stage g(o, {{0, 1, 1}});
  const auto ask = [&](uint64_t id) {
    auto c = g.ask(id);
    c.asked.tenant = 1;
    g.deliver(c);
  };
  ask(1);
  ask(2);
  CHECK(g.outcome_of(2).reason == drop_reason::quota);
  g.drop(1, drop_reason::late);
  ask(3);
  CHECK(g.open(3));
  g.fail(3, failure::device_error);
  ask(4);
  g.complete(4);
  g.end_pull();
  ask(5);
  g.drop(5, drop_reason::shed);
  ask(6);
  CHECK(g.open(6));
  g.drop(6, drop_reason::shed);
  g.check_clean();
}

TEST_CASE("gateway: a disconnected or late request keeps its place until its work ends") {
  auto o = gateway_stage::options(2);
  o.tenants = {"narrow"};
  gateway_stage g(o, {{0, 1, 1}});
  const auto ask = [&](uint64_t id, uint32_t tenant = 1) {
    auto c = g.ask(id);
    c.asked.tenant = tenant;
    g.deliver(c);
  };
  const auto refused = [&](uint64_t id, drop_reason why) {
    ask(id);
    CHECK(g.outcome_of(id).reason == why);
  };
  ask(1);
  g.deliver(client_gone{request_id{1}});
  CHECK(g.outcome_of(1).reason == drop_reason::cancelled);
  refused(2, drop_reason::quota);
  CHECK(g.value_of("troupe_requests_in_flight") == 0);
  CHECK(g.value_of("troupe_requests_outlived") == 1);
  g.drop(1, drop_reason::cancelled);

  ask(3);
  g.complete(3);
  g.deliver(client_gone{request_id{3}});  // while its output is on its way
  refused(4, drop_reason::quota);
  g.end_pull();

  ask(5);
  ask(6, 0);
  g.deliver(client_gone{request_id{5}});
  g.deliver(client_gone{request_id{6}});
  refused(7, drop_reason::queue_full);  // the bound on all requests counts them, too
  g.complete(5);
  g.complete(6);

  ask(8);
  g.run_until(g.now + 70ms);
  CHECK(g.outcome_of(8).error == failure::timeout);
  refused(9, drop_reason::quota);
  g.run_until(g.now + 50ms);  // without an answer its input is released by now
  ask(10);
  CHECK(g.open(10));
  g.deliver(node_down{scheduler_node, {10}});
  g.deliver(node_up{scheduler_node, {20}});
  ask(11);
  CHECK(g.open(11));
  g.drop(11, drop_reason::shed);
  g.check_clean();
}
