// The decision log of a gateway: requests that it refused or failed.
#include "tests/actors/run_command.hpp"
#include "tests/actors/tensor/gateway_stage.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

struct logging_gateway : gateway_stage {
  explicit logging_gateway(uint32_t remembered = 4) : gateway_stage(options(remembered), {{1, 1, 0}}) {}
  static gateway::options options(uint32_t remembered) {
    auto o = gateway_stage::options(2);  // in flight
    o.tenants = {"alice"};
    o.decision_log = remembered;
    return o;
  }
  gateway_decision about(uint64_t id) {
    return test::run_command<gateway_decision>(*this, explain_request{request_id{id}});
  }
};

}  // namespace

TEST_CASE("decisions of a gateway: a refused request has the numbers of its rule") {
  logging_gateway g;
  g.now = at(1);
  for (uint64_t id = 1; id <= 3; ++id) g.arrive(id);
  CHECK_FALSE(g.about(1).known);  // it is open
  const auto d = g.about(3);
  REQUIRE(d.known);
  CHECK(d.at_admission);
  CHECK(d.outcome == "dropped");
  CHECK(d.reason == "queue_full");
  CHECK(d.model_name == "m");
  CHECK(d.arrival == at(1));
  CHECK(d.deadline == at(13));
  CHECK(d.at == at(1));
  CHECK(d.in_flight == 2);
  CHECK(d.max_in_flight == 2);
  CHECK(d.tenant.empty());
}

TEST_CASE("decisions of a gateway: a refusal by quota has the tenant and its limit") {
  logging_gateway g;
  for (uint64_t id = 1; id <= 2; ++id) {
    auto c = g.ask(id);
    c.asked.tenant = 1;
    g.deliver(c);
  }
  const auto d = g.about(2);
  CHECK(d.reason == "quota");
  CHECK(d.tenant == "alice");
  CHECK(d.detail == "rate");
  CHECK(d.retry_after == 1s);
}

TEST_CASE("decisions of a gateway: a failed request has its reason") {
  logging_gateway g;
  g.arrive(1);
  g.run_until(at(62));
  auto d = g.about(1);
  CHECK_FALSE(d.at_admission);
  CHECK(d.outcome == "failed");
  CHECK(d.reason == "timeout");
  CHECK(d.at == at(62));
  g.arrive(2);
  g.fail(2, failure::device_error);
  CHECK(g.about(2).reason == "device_error");
}

TEST_CASE("decisions of a gateway: drops by the queue and finished requests are not recorded") {
  logging_gateway g;
  g.arrive(1);
  g.drop(1, drop_reason::late);
  CHECK_FALSE(g.about(1).known);
  g.arrive(2);
  g.complete(2);
  g.end_pull();
  CHECK_FALSE(g.about(2).known);
}

TEST_CASE("decisions of a gateway: the log keeps the given number of latest decisions") {
  logging_gateway g(2);
  for (uint64_t id = 1; id <= 5; ++id) g.arrive(id);  // two are admitted
  CHECK_FALSE(g.about(3).known);
  CHECK(g.about(4).known);
  CHECK(g.about(5).known);
  CHECK(g.about(5).decision_log == 2);
  run_command<acknowledged>(g, set_decision_log{0});
  g.arrive(6);
  CHECK_FALSE(g.about(6).known);
  CHECK(g.about(6).decision_log == 0);
}
