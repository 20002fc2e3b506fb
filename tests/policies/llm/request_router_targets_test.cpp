// Placement of sequences by their targets for TTFT and TPOT.
#include "policies/llm/request_router.hpp"

#include <doctest/doctest.h>

#include "tests/policies/llm/request_router_stage.hpp"

using namespace troupe;
using namespace troupe::test;

TEST_CASE("request router: a request with an infeasible TTFT target is refused at once") {
  router_stage s(1);
  s.add(1);
  s.decide();
  s.forecast(0, 1000);  // 111 ms of prompts
  auto hasty = s.request(2), patient = s.request(3);
  hasty.due = s.now + 111ms + 11ms;  // its own 10 tokens take 12
  patient.due = s.now + 111ms + 13ms;
  for (const auto& r : {hasty, patient}) s.add(r);
  CHECK(s.decide() == "2!late 3>0");
  s.now += 100ms;  // most of it has been computed since
  auto third = s.request(4);
  third.due = s.now + 40ms;
  s.add(third);
  CHECK(s.decide() == "4>0");
}

TEST_CASE("request router: an engine that is in time is taken before a fuller one that is not") {
  router_stage s(2);
  for (uint64_t id = 1; id <= 5; ++id) s.add(id);
  CHECK(s.decide() == "1>1 2>1 3>1 4>1 5>0");
  s.end({1});
  s.forecast(0);
  s.forecast(1, 1000);
  auto r = s.request(6);
  r.due = s.now + 50ms;
  s.add(r);
  CHECK(s.decide() == "6>0");
  s.add(7);
  CHECK(s.decide() == "7>1");
}

TEST_CASE("request router: an idle engine accepts a request in spite of slow last steps") {
  router_stage s(1);
  s.forecast(0, 1'000'000);
  auto r = s.request(1);
  r.due = s.now + 1ms;
  s.add(r);
  CHECK(s.decide() == "1>0");
}

TEST_CASE("request router: a request behind too many waiting ones is refused on arrival") {
  router_stage s(1);
  uint64_t next = 1;
  for (; next <= 4; ++next) s.add(next);
  s.decide();
  for (int i = 0; i < 100; ++i) {  // ten end a second
    s.now += 100ms;
    s.end({next - 4});
    s.add(next++);
    s.say(0);
    s.decide();
  }
  CHECK(s.router.waiting() == 0);
  for (int i = 0; i < 10; ++i) s.add(next++);
  auto hasty = s.request(next++), patient = s.request(next++);
  hasty.due = s.now + 500ms;
  hasty.priority = patient.priority = 1;  // behind the ten
  patient.due = s.now + 1500ms;
  for (const auto& r : {hasty, patient}) s.add(r);
  CHECK(s.decide() == std::to_string(hasty.id.value) + "!late");
  CHECK(s.router.waiting() == 11);
}

TEST_CASE("request router: an engine has room for as many sequences as keep the target for tokens") {
  router_stage s(2);
  for (uint64_t id = 1; id <= 2; ++id) s.add(id);
  CHECK(s.decide() == "1>1 2>1");
  s.forecast(0);
  s.forecast(1);
  auto fast = s.request(3), slow = s.request(4);
  fast.tpot = 12ms;  // of two sequences, not of three
  slow.tpot = 14ms;
  for (const auto& r : {fast, slow}) s.add(r);
  CHECK(s.decide() == "3>0 4>1");
}
