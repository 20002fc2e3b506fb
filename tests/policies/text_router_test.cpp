#include "policies/text_router.hpp"

#include <doctest/doctest.h>

#include <set>

using namespace troupe;

namespace {

constexpr address door{node_id{7}, {}, role::llm_gateway, 0};

/// Engines with room for four texts and 160 positions in blocks of 10.
struct router_stage {
  explicit router_stage(uint32_t engines, std::string_view routing = "punica", uint32_t most_waiting = 100)
      : router(options(engines, most_waiting), (*text_routings().find(routing))()) {
    for (uint32_t i = 0; i < engines; ++i) say(i);
  }
  static text_router::options options(uint32_t engines, uint32_t most_waiting) {
    text_router::options o;
    for (uint32_t i = 0; i < engines; ++i) o.engines.push_back({i});
    o.most_waiting = most_waiting;
    return o;
  }
  void say(uint32_t engine, float used = 0, bool ready = true) {
    engine_status s;
    s.engine = {engine};
    s.ready = ready;
    s.kv_tokens = 160;
    s.block_tokens = 10;
    s.max_sequences = 4;
    s.adapter_slots = 3;
    s.kv_used = used;
    router.on_status(s, now);
  }
  void know(uint32_t engine, const std::string& adapter) {
    router.on_adapters({{}, {engine}, false, {{adapter, "/"}}, {}});
  }
  routed_request request(uint64_t id) {
    routed_request r;
    r.id = request_id{id};
    r.version = 1;
    r.tokens = 10;
    r.arrival = now;
    return r;
  }
  void add(const routed_request& r) { router.on_route(door, {{}, false, {r}}); }
  void add(uint64_t id) { add(request(id)); }
  /// "1>0 2>1 3!late": in the order of the decisions.
  std::string decide() {
    std::string out;
    for (const auto& d : router.decide(now)) {
      if (!out.empty()) out += ' ';
      out += std::to_string(d.to.id.value);
      out += d.refused == drop_reason::none ? ">" + std::to_string(d.to.to.value)
                                            : "!" + std::string(to_string(d.refused));
    }
    return out;
  }
  void end(request_id id) { router.on_end(id, now); }
  /// Steps of 10 ms, 1 ms for each text, 100 us for each token of a prompt; so many are to be read.
  void forecast(uint32_t engine, uint64_t unread = 0) {
    auto s = router.engines().at({engine}).said;
    s.steps = {10ms, 1ms, 100us};
    s.unread = unread;
    router.on_status(s, now);
  }
  uint32_t texts(uint32_t engine) { return router.engines().at({engine}).texts; }

  time_point now{1000s};
  text_router router;
};

}  // namespace

TEST_CASE(
    "text router: fills one engine after the other, and lets wait who has no room, first come first served") {
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
  CHECK(s.texts(1) == 3);
}

TEST_CASE(
    "text router: room is what the engine said, less what went there since, less a block of every text") {
  router_stage s(1);
  s.say(0, 0.5f);  // 80 are free
  auto big = s.request(1);
  big.tokens = 55;  // 60 in blocks, and one to grow
  s.add(big);
  CHECK(s.decide() == "1>0");
  s.add(2);  // 10, and two to grow: 80 - 55 is not enough
  CHECK(s.decide().empty());
  s.now += 300ms;
  s.say(0, 0.8f);  // 32 are free, and the first is in it
  CHECK(s.decide() == "2>0");
}

TEST_CASE(
    "text router: what an idle engine can hold goes there whatever it said last, and what none can is "
    "refused") {
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

TEST_CASE("text router: waits by priority, then by the time of the first token, and refuses whose is over") {
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

TEST_CASE("text router: what could not have its first token in time is refused at once") {
  router_stage s(1);
  s.add(1);
  s.decide();
  s.forecast(0, 1000);  // 111 ms of prompts
  auto hasty = s.request(2), patient = s.request(3);
  hasty.due = s.now + 111ms + 11ms;  // its own 10 tokens take 12
  patient.due = s.now + 111ms + 13ms;
  for (const auto& r : {hasty, patient}) s.add(r);
  CHECK(s.decide() == "2!late 3>0");
  s.now += 100ms;  // most of it has been read since
  auto third = s.request(4);
  third.due = s.now + 40ms;
  s.add(third);
  CHECK(s.decide() == "4>0");
}

TEST_CASE("text router: an engine that is in time is taken before a fuller one that is not") {
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

TEST_CASE("text router: an idle engine tries, whatever its last steps were like") {
  router_stage s(1);
  s.forecast(0, 1'000'000);
  auto r = s.request(1);
  r.due = s.now + 1ms;
  s.add(r);
  CHECK(s.decide() == "1>0");
}

TEST_CASE("text router: who waits behind more than end in time is refused when it comes") {
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

TEST_CASE("text router: an engine has room for as many texts as keep the target for tokens") {
  router_stage s(2);
  for (uint64_t id = 1; id <= 2; ++id) s.add(id);
  CHECK(s.decide() == "1>1 2>1");
  s.forecast(0);
  s.forecast(1);
  auto fast = s.request(3), slow = s.request(4);
  fast.tpot = 12ms;  // of two texts, not of three
  slow.tpot = 14ms;
  for (const auto& r : {fast, slow}) s.add(r);
  CHECK(s.decide() == "3>0 4>1");
}

TEST_CASE("text router: who has begun elsewhere comes first, and is refused by no bound and no time") {
  router_stage s(1, "punica", 1);
  for (uint64_t id = 1; id <= 4; ++id) s.add(id);
  s.decide();
  auto begun = s.request(5);
  begun.begun = true;
  begun.due = s.now - 1s;
  s.add(6);
  s.add(begun);
  CHECK(s.decide() == "6!queue_full");
  s.end({1});
  CHECK(s.decide() == "5>0");
}

TEST_CASE("text router: an adapter's requests go where it is, and others pass them") {
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

TEST_CASE("text router: an evicted text moves if another engine has room") {
  router_stage s(2);
  for (uint64_t id = 1; id <= 3; ++id) s.add(id);
  s.decide();
  s.router.on_evicted({{}, {1}, {{3}}});
  CHECK(s.decide() == "3>0");
  s.router.on_evicted({{}, {1}, {{3}}});  // it has left
  CHECK(s.decide().empty());
  s.say(1, 1.f);
  s.router.on_evicted({{}, {0}, {{3}}});
  CHECK(s.decide().empty());
}

TEST_CASE(
    "text router: an engine that closes or leaves becomes empty, and takes nothing new until it opens") {
  router_stage s(2);
  for (uint64_t id = 1; id <= 6; ++id) s.add(id);
  s.decide();
  CHECK(s.router.close({1}, true));
  CHECK(s.decide() == "1>0 2>0");
  CHECK(s.texts(1) == 2);  // there is no room for them yet
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

TEST_CASE("text router: the requests of a dead engine are nobody's until their gateway tells") {
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
  s.say(0, 0, false);  // is back, and loads
  s.add(1);
  CHECK(s.decide().empty());
  s.say(0);
  CHECK(s.decide() == "1>0");
}

TEST_CASE(
    "text router: learns from a gateway where its requests are, and forgets those that it has no more") {
  router_stage s(2);
  auto there = s.request(1);
  there.at = engine_id{0};
  s.router.on_route(door, {{}, true, {there}});
  CHECK(s.decide().empty());
  CHECK(s.texts(0) == 1);
  s.router.on_route(door, {{}, true, {s.request(2)}});
  CHECK(s.texts(0) == 0);
  CHECK(s.decide() == "2>1");
  s.router.lose_gateway(door.node);
  CHECK(s.texts(1) == 0);
  CHECK(s.router.requests().empty());
}

TEST_CASE("text router: consolidation empties the emptiest engine, or moves nothing") {
  router_stage s(3, "least_loaded");
  for (uint64_t id = 1; id <= 7; ++id) s.add(id);
  s.decide();  // 3, 2, 2
  s.router.consolidate(s.now);
  CHECK(s.decide() == "2>0 5>2");
  CHECK(s.texts(1) == 0);
  s.router.consolidate(s.now);  // 4, 0, 3: no room for all of three
  CHECK(s.decide().empty());
  CHECK(s.router.counted().moved[static_cast<size_t>(route_reason::consolidated)] == 2);
  for (uint64_t id : {1, 3, 4}) s.end({id});
  s.router.consolidate(s.now);
  CHECK(s.decide().size() > 0);
  CHECK((s.texts(0) == 0) != (s.texts(2) == 0));
}

TEST_CASE("text router: an operator moves a request, or hears why not") {
  router_stage s(3);
  for (uint64_t id = 1; id <= 5; ++id) s.add(id);
  s.decide();  // four on 2, one on 1
  CHECK(s.router.migrate({9}, {0}, s.now) == "there is no request 9");
  CHECK(s.router.migrate({1}, {9}, s.now) == "the model has no engine 9");
  CHECK(s.router.migrate({1}, {2}, s.now) == "it is on engine 2 already");
  CHECK(s.router.migrate({5}, {2}, s.now) == "engine 2 has no room for it now");
  s.router.close({0}, true);
  CHECK(s.router.migrate({1}, {0}, s.now) == "engine 0 takes no texts");
  s.router.close({0}, false);
  CHECK(s.router.migrate({1}, {0}, s.now).empty());
  CHECK(s.decide() == "1>0");
}

// The scenario of llm-d-router#709: preferring where an adapter is makes hot spots, adding load makes thrash,
// and cold adapters starve.
TEST_CASE(
    "text router: with affinity hot adapters spread, cold ones do not starve, and slots do not thrash") {
  const auto run = [](std::string_view routing) {
    router_stage s(4, routing);
    for (uint32_t e = 0; e < 4; ++e)
      for (const char* a : {"hot", "c0", "c1", "c2", "c3", "c4"}) s.know(e, a);
    std::map<std::string, std::set<uint32_t>> homes;
    std::map<uint64_t, std::string> open;
    std::map<uint32_t, std::vector<std::string>> slots;  // three of each engine, who was used last is last
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
        homes[adapter].insert(d.to.to.value);
        cold_served += adapter != "hot";
      }
      while (open.size() > 9) {
        s.end(request_id{open.begin()->first});
        open.erase(open.begin());
      }
    }
    CHECK(cold_served == 200);
    return std::pair(homes["hot"].size(), loads);
  };
  const auto [spread, loads] = run("affinity");
  const auto [spread_least, loads_least] = run("least_loaded");
  CHECK(spread >= 2);  // one engine holds four texts, six are hot
  CHECK(loads * 3 < loads_least);
  CHECK(spread_least == 4);
}
