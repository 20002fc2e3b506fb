#include "policies/llm/request_router.hpp"

#include <doctest/doctest.h>

#include <set>

#include "tests/policies/llm/request_router_stage.hpp"

using namespace troupe;
using namespace troupe::test;

TEST_CASE("request router: fills one engine after the other, and queues the rest first come, first served") {
  router_stage s(2);
  for (uint64_t id = 1; id <= 10; ++id) s.add(id);
  CHECK(s.decide() == "1>1 2>1 3>1 4>1 5>0 6>0 7>0 8>0");
  CHECK(s.router.waiting() == 2);
  CHECK(s.decide().empty());
  s.end({6});
  CHECK(s.decide() == "9>0");
  s.end({1});
  s.end({2});
  CHECK(s.decide() == "10>1");
  CHECK(s.sequences(1) == 3);
}

TEST_CASE(
    "request router: room is the reported free memory minus later placements and a block per sequence") {
  router_stage s(1);
  s.say(0, 0.5f);  // 80 are free
  auto big = s.request(1);
  big.tokens = 55;  // 60 in blocks, and one to grow
  s.add(big);
  CHECK(s.decide() == "1>0");
  s.add(2);  // 10, and two to grow: 80 - 55 is not enough
  CHECK(s.decide().empty());
  s.now += 300ms;
  s.say(0, 0.8f);  // 32 are free, including the first
  CHECK(s.decide() == "2>0");
}

TEST_CASE("request router: an idle engine has all of its room, and a request beyond any engine is refused") {
  router_stage s(1);
  s.say(0, 0.9f);
  auto whole = s.request(1);
  whole.tokens = 160;
  s.add(whole);
  CHECK(s.decide() == "1>0");
  s.end({1});
  whole.tokens = 161;
  s.add(whole);
  CHECK(s.decide() == "1!no_capacity");
}

TEST_CASE("request router: requests wait by priority, then by TTFT deadline, and are refused after it") {
  router_stage s(1);
  for (uint64_t id = 1; id <= 4; ++id) s.add(id);
  s.decide();
  auto later = s.request(5), soon = s.request(6), important = s.request(7);
  soon.due = s.now + 1s;
  soon.arrival = s.now;
  important.priority = -1;
  for (const auto& r : {later, soon, important}) s.add(r);
  CHECK(s.router.next_due() == soon.due);
  s.end({1});
  CHECK(s.decide() == "7>0");
  s.now += 2s;
  s.end({2});
  CHECK(s.decide() == "6!late 5>0");
  CHECK(s.router.next_due() == never);
}

TEST_CASE("request router: a migrated sequence comes first, and passes any bound and deadline") {
  router_stage s(1, "punica", 1);
  for (uint64_t id = 1; id <= 4; ++id) s.add(id);
  s.decide();
  auto started = s.request(5);
  started.started = true;
  started.due = s.now - 1s;
  s.add(6);
  s.add(started);
  CHECK(s.decide() == "6!queue_full");
  s.end({1});
  CHECK(s.decide() == "5>0");
}

TEST_CASE(
    "request router: requests go to the engine of their adapter, others pass, unknown ones are refused") {
  router_stage s(2);
  s.know(0, "a");
  for (uint64_t id = 1; id <= 5; ++id) {
    auto r = s.request(id);
    r.adapter = "a";
    s.add(r);
  }
  s.add(6);
  CHECK(s.decide() == "1>0 2>0 3>0 4>0 6>1");
  auto stranger = s.request(7);
  stranger.adapter = "b";
  s.add(stranger);
  CHECK(s.decide() == "7!undeployed");
}

TEST_CASE("request router: a preempted sequence moves if another engine has room") {
  router_stage s(2);
  for (uint64_t id = 1; id <= 3; ++id) s.add(id);
  s.decide();
  s.router.on_preempted({{}, {1}, {{3}}});
  CHECK(s.decide() == "3>0");
  s.router.on_preempted({{}, {1}, {{3}}});  // it is gone
  CHECK(s.decide().empty());
  s.say(1, 1.f);
  s.router.on_preempted({{}, {0}, {{3}}});
  CHECK(s.decide().empty());
}

TEST_CASE(
    "request router: an engine that closes or leaves becomes empty, and takes nothing new until it opens") {
  router_stage s(2);
  for (uint64_t id = 1; id <= 6; ++id) s.add(id);
  s.decide();
  CHECK(s.router.close({1}, true));
  CHECK(s.decide() == "1>0 2>0");
  CHECK(s.sequences(1) == 2);  // there is no memory for them yet
  s.add(7);
  CHECK(s.decide().empty());
  for (uint64_t id = 5; id <= 6; ++id) s.end({id});
  CHECK(s.decide() == "3>0 4>0");
  s.router.close({1}, false);
  CHECK(s.decide() == "7>1");
  s.say(1, 0, false);
  s.end({1});
  CHECK(s.decide() == "7>0");
  CHECK_FALSE(s.router.close({9}, true));
}

TEST_CASE("request router: requests of a dead engine have no engine until their gateway asks again") {
  router_stage s(2);
  s.add(1);
  s.decide();
  s.router.lose_engine({1});
  CHECK(s.decide().empty());
  s.add(1);
  CHECK(s.decide() == "1>0");
  s.router.lose_engine({0});
  s.add(1);
  CHECK(s.decide() == "1!no_capacity");
  s.say(0, 0, false);  // it is back, and loads the model
  s.add(1);
  CHECK(s.decide().empty());
  s.say(0);
  CHECK(s.decide() == "1>0");
}

TEST_CASE("request router: a gateway that comes over waits for engines that were never heard, for a while") {
  router_stage s(2);
  s.router.clear();
  s.decide();
  s.now += 5s;
  s.add(1);
  CHECK(s.decide() == "1!no_capacity");
  s.router.on_route(gateway_address, {{}, true, {s.request(2), s.request(3)}}, s.now);
  CHECK(s.decide().empty());
  CHECK(s.router.next_due() == s.now + 2s);
  s.now += 1s;
  s.say(1);
  CHECK(s.decide() == "2>1 3>1");
  s.router.lose_engine({1});  // it was heard, and engine 0 may still come
  s.add(4);
  CHECK(s.decide().empty());
  s.now += 1s;
  CHECK(s.decide() == "4!no_capacity");
}

TEST_CASE("request router: a full update replaces a gateway's requests, and its loss removes them") {
  router_stage s(2);
  auto there = s.request(1);
  there.at = engine_id{0};
  s.router.on_route(gateway_address, {{}, true, {there}}, s.now);
  CHECK(s.decide().empty());
  CHECK(s.sequences(0) == 1);
  s.router.on_route(gateway_address, {{}, true, {s.request(2)}}, s.now);
  CHECK(s.sequences(0) == 0);
  CHECK(s.decide() == "2>1");
  s.router.lose_gateway(gateway_address.node);
  CHECK(s.sequences(1) == 0);
  CHECK(s.router.requests().empty());
}

TEST_CASE("request router: consolidation empties the emptiest engine, or moves nothing") {
  router_stage s(3, "least_loaded");
  for (uint64_t id = 1; id <= 7; ++id) s.add(id);
  s.decide();  // 3, 2, 2
  s.router.consolidate(s.now);
  CHECK(s.decide() == "2>0 5>2");
  CHECK(s.sequences(1) == 0);
  s.router.consolidate(s.now);  // 4, 0, 3: no room for all of three
  CHECK(s.decide().empty());
  CHECK(s.router.counted().moved[static_cast<size_t>(route_reason::consolidated)] == 2);
  for (uint64_t id : {1, 3, 4}) s.end({id});
  s.router.consolidate(s.now);
  CHECK(s.decide().size() > 0);
  CHECK((s.sequences(0) == 0) != (s.sequences(2) == 0));
}

TEST_CASE("request router: an operator migrates a request, or gets the reason for a refusal") {
  router_stage s(3);
  for (uint64_t id = 1; id <= 5; ++id) s.add(id);
  s.decide();  // four on 2, one on 1
  CHECK(s.router.migrate({9}, {0}, s.now) == "there is no request 9");
  CHECK(s.router.migrate({1}, {9}, s.now) == "the model has no engine 9");
  CHECK(s.router.migrate({1}, {2}, s.now) == "the request is on engine 2 already");
  CHECK(s.router.migrate({5}, {2}, s.now) == "engine 2 has no room for the request now");
  s.router.close({0}, true);
  CHECK(s.router.migrate({1}, {0}, s.now) == "engine 0 accepts no sequences");
  s.router.close({0}, false);
  CHECK(s.router.migrate({1}, {0}, s.now).empty());
  CHECK(s.decide() == "1>0");
}

// The scenario of llm-d-router#709: preferring engines with the adapter makes hot spots, balancing load makes
// thrash, and cold adapters starve.
TEST_CASE(
    "request router: with affinity hot adapters spread, cold ones do not starve, and slots do not thrash") {
  const auto run = [](std::string_view routing) {
    router_stage s(4, routing);
    for (uint32_t e = 0; e < 4; ++e)
      for (const char* a : {"hot", "c0", "c1", "c2", "c3", "c4"}) s.know(e, a);
    std::map<std::string, std::set<uint32_t>> engines_with;
    std::map<uint64_t, std::string> open;
    std::map<uint32_t, std::vector<std::string>> slots;  // three of each engine, in LRU order
    uint64_t next = 1, loads = 0;
    size_t cold_served = 0;
    for (int round = 0; round < 200; ++round) {
      s.now += 300ms;
      for (uint32_t e = 0; e < 4; ++e) s.say(e);
      for (int i = 0; i < 3; ++i) {
        auto r = s.request(next);
        r.adapter = i < 2 ? "hot" : "c" + std::to_string(round % 5);
        open[next++] = r.adapter;
        s.add(r);
      }
      for (const auto& d : s.router.decide(s.now)) {
        const auto& adapter = open.at(d.to.id.value);
        auto& here = slots[d.to.to.value];
        loads += std::erase(here, adapter) == 0;
        here.push_back(adapter);
        if (here.size() > 3) here.erase(here.begin());
        engines_with[adapter].insert(d.to.to.value);
        cold_served += adapter != "hot";
      }
      while (open.size() > 9) {
        s.end(request_id{open.begin()->first});
        open.erase(open.begin());
      }
    }
    CHECK(cold_served == 200);
    return std::pair(engines_with["hot"].size(), loads);
  };
  const auto [spread, loads] = run("affinity");
  const auto [spread_of_least_loaded, loads_of_least_loaded] = run("least_loaded");
  CHECK(spread >= 2);  // one engine holds four sequences, six are hot
  CHECK(loads * 3 < loads_of_least_loaded);
  CHECK(spread_of_least_loaded == 4);
}
