// A model whose engines are started on demand.
#include "policies/llm/request_router.hpp"
#include "tests/policies/llm/request_router_stage.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

/// Two idle engines; requests wait 10 s for one.
struct cold_router : router_stage {
  cold_router() : router_stage(2, "punica", 100, 10s) {
    for (const uint32_t i : {0, 1}) say_stage(i, instance_stage::idle);
  }
};

}  // namespace

TEST_CASE("request router: a request waits for an engine that is started, and is placed on it") {
  cold_router s;
  CHECK(s.decide().empty());
  CHECK_FALSE(s.router.wants_instance());
  s.add(1);
  CHECK(s.decide().empty());
  CHECK(s.router.wants_instance());
  s.say_stage(1, instance_stage::loading);
  CHECK(s.decide().empty());
  CHECK_FALSE(s.router.wants_instance());
  s.now += 9s;
  CHECK(s.decide().empty());
  s.say(1);
  CHECK(s.decide() == "1>1");
  CHECK(s.router.next_due() == never);
}

TEST_CASE("request router: a request that no engine was started for in time is refused") {
  for (const auto stage : {instance_stage::idle, instance_stage::loading}) {
    cold_router s;
    s.say_stage(0, stage);
    s.add(1);
    CHECK(s.decide().empty());
    s.now += 4s;
    s.add(2);
    CHECK(s.decide().empty());
    CHECK(s.router.next_due() == s.now + 6s);
    s.now += 6s;
    CHECK(s.decide() == "1!no_capacity");
    CHECK(s.router.next_due() == s.now + 4s);
    s.now += 4s;
    CHECK(s.decide() == "2!no_capacity");
    CHECK_FALSE(s.router.wants_instance());
  }
}

TEST_CASE("request router: a started request asks for an engine as long as its client waits") {
  cold_router s;
  auto r = s.request(1);
  r.started = true;
  s.add(r);
  s.decide();
  s.now += 1min;
  CHECK(s.decide().empty());
  CHECK(s.router.wants_instance());
  s.end({1});
  s.decide();
  CHECK_FALSE(s.router.wants_instance());
}

TEST_CASE("request router: a request is refused at once if no engine can be started") {
  cold_router s;
  for (const uint32_t i : {0, 1}) s.say_stage(i, instance_stage::loading, "the file is cut off");
  s.add(1);
  s.now += 3s;
  CHECK(s.decide() == "1!no_capacity");
  s.say_stage(0, instance_stage::idle);
  s.add(2);
  CHECK(s.decide().empty());
  s.router.lose_engine({0});
  CHECK(s.decide() == "2!no_capacity");
}

TEST_CASE("request router: a new router waits for the statuses of engines before it refuses") {
  cold_router s;
  s.router.clear();
  s.add(1);
  CHECK(s.decide().empty());
  CHECK_FALSE(s.router.wants_instance());  // one may serve
  s.now += 1s;
  CHECK(s.decide().empty());
  SUBCASE("one serves") {
    s.say(0);
    CHECK(s.decide() == "1>0");
  }
  SUBCASE("none comes") {
    CHECK(s.router.next_due() == s.now + 1s);
    s.now += 1s;
    CHECK(s.decide() == "1!no_capacity");
  }
  SUBCASE("all are idle") {
    for (const uint32_t i : {0, 1}) s.say_stage(i, instance_stage::idle);
    s.decide();
    CHECK(s.router.wants_instance());
  }
}

TEST_CASE("request router: requests leave an engine that drains, and new ones want another") {
  cold_router s;
  s.say(0);
  s.add(1);
  CHECK(s.decide() == "1>0");
  s.say_stage(0, instance_stage::draining);
  s.add(2);
  CHECK(s.decide().empty());  // the first one goes on where it is
  CHECK(s.router.wants_instance());
  CHECK(s.sequences(0) == 1);
  s.say(1);
  CHECK(s.decide() == "1>1 2>1");
  CHECK(s.router.counted().moved[static_cast<size_t>(route_reason::drained)] == 1);
}
