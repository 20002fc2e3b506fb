// The request router where engines prefill or decode only.
#include "tests/policies/llm/request_router_stage.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

/// The first engines prefill, the others decode.
struct phases_stage : router_stage {
  phases_stage(uint32_t prefill, uint32_t decode, std::string_view routing = "punica")
      : router_stage(prefill + decode, routing, 100, {}, true), prefill_engines(prefill) {
    for (uint32_t i = 0; i < prefill + decode; ++i) report(i);
  }
  void report(uint32_t engine, float used = 0, uint64_t uncomputed = 0, bool ready = true) {
    say(engine, used, ready);
    auto s = router.engines().at({engine}).said;
    s.phase = engine < prefill_engines ? instance_phase::prefill : instance_phase::decode;
    s.uncomputed_tokens = uncomputed;
    router.on_status(s, now);
  }
  /// "1>0+2": engine 0 prefills request 1, engine 2 decodes it.
  std::string decide_both() {
    std::string out;
    for (const auto& d : router.decide(now)) {
      out += (out.empty() ? "" : " ") + std::to_string(d.to.id.value);
      if (d.refused != drop_reason::none) {
        out += "!" + std::string(to_string(d.refused));
        continue;
      }
      out += ">" + std::to_string(d.to.to.value);
      if (d.to.decode_at != no_engine) out += "+" + std::to_string(d.to.decode_at.value);
    }
    return out;
  }
  /// Its gateway says that the request is there.
  void arrive(uint64_t id, uint32_t at, uint32_t version = 2) {
    auto r = request(id);
    r.version = version;
    r.started = true;
    r.at = {at};
    add(r);
  }
  const routed_engine& engine(uint32_t id) { return router.engines().at({id}); }

  uint32_t prefill_engines;
};

}  // namespace

TEST_CASE("disaggregated: a request gets an engine to prefill and one to decode, which keeps room for it") {
  phases_stage s(1, 2);
  for (uint64_t id = 1; id <= 3; ++id) s.add(id);
  CHECK(s.decide_both() == "1>0+2 2>0+2 3>0+2");
  CHECK(s.sequences(0) == 3);
  CHECK(s.sequences(2) == 3);
  CHECK(s.engine(2).expected.size() == 3);
  CHECK(s.engine(2).free_tokens() == 130);
  s.arrive(1, 2);
  CHECK(s.decide_both().empty());
  CHECK(s.sequences(0) == 2);
  CHECK(s.sequences(2) == 3);
  CHECK(s.engine(2).requests.size() == 1);
  CHECK(s.engine(2).free_tokens() == 130);  // its status does not include the request yet
  s.now += 300ms;
  s.report(2, 0.125f);
  CHECK(s.engine(2).free_tokens() == 120);
  s.end({1});
  s.end({2});  // before it is handed over
  CHECK(s.sequences(0) == 1);
  CHECK(s.sequences(2) == 1);
  CHECK(s.engine(2).free_tokens() == 130);
}

TEST_CASE("disaggregated: prefills wait while no engine has room to decode") {
  phases_stage s(2, 1);
  for (uint64_t id = 1; id <= 6; ++id) s.add(id);
  CHECK(s.decide_both() == "1>1+2 2>1+2 3>1+2 4>1+2");
  for (uint64_t id = 1; id <= 4; ++id) s.arrive(id, 2);
  CHECK(s.decide_both().empty());  // though both others are idle
  CHECK(s.router.waiting() == 2);
  s.end({3});
  CHECK(s.decide_both() == "5>1+2");
}

TEST_CASE("disaggregated: prompts go where the fewest tokens are to be prefilled before them") {
  phases_stage s(2, 1);
  s.report(1, 0, 300);
  s.add(1);
  CHECK(s.decide_both() == "1>0+2");
  s.report(0, 0, 900);
  s.add(2);
  CHECK(s.decide_both() == "2>1+2");
}

TEST_CASE("disaggregated: without engines of one phase the others take whole requests") {
  phases_stage s(1, 1);
  s.router.lose_engine({1});
  s.add(1);
  CHECK(s.decide_both().empty());  // it may still appear
  s.now += 2s;
  CHECK(s.decide_both() == "1>0");
  s.report(1);
  s.router.lose_engine({0});
  s.add(2);
  CHECK(s.decide_both() == "2>1");
}

TEST_CASE("disaggregated: another engine is to decode if the chosen one is lost, or closed") {
  phases_stage s(1, 2);
  s.add(1);
  CHECK(s.decide_both() == "1>0+2");
  s.router.lose_engine({2});
  CHECK(s.decide_both() == "1>0+1");
  CHECK(s.engine(1).expected.size() == 1);
  s.report(2);
  s.router.close({1}, true);
  CHECK(s.decide_both() == "1>0+2");
  CHECK(s.engine(1).sequences == 0);
  s.router.lose_engine({2});
  CHECK(s.decide_both().empty());  // none is left
  CHECK(s.router.requests().at({1}).asked.decode_at == no_engine);
  s.end({1});
  CHECK(s.sequences(0) == 0);
}

TEST_CASE(
    "disaggregated: an engine that is to prefill from now on keeps its requests, and gets no others to "
    "decode") {
  phases_stage s(1, 2);
  s.add(1);
  s.add(2);
  CHECK(s.decide_both() == "1>0+2 2>0+2");
  s.arrive(1, 2);
  s.prefill_engines = 3;
  s.report(2);
  CHECK(s.decide_both() == "2>0+1");
  CHECK(s.engine(2).requests.size() == 1);
  CHECK(s.engine(2).expected.empty());
  s.add(3);
  CHECK(s.decide_both() == "3>2+1");
}

TEST_CASE("disaggregated: a request whose engine is lost while it prefills is prefilled elsewhere") {
  phases_stage s(2, 1);
  s.add(1);
  CHECK(s.decide_both() == "1>1+2");
  s.router.lose_engine({1});
  CHECK(s.sequences(2) == 0);
  auto again = s.request(1);
  again.version = 2;
  s.add(again);
  CHECK(s.decide_both() == "1>0+2");
}

TEST_CASE("disaggregated: what leaves an engine stays in its phase") {
  phases_stage s(2, 2);
  s.add(1);
  CHECK(s.decide_both() == "1>1+3");
  s.arrive(1, 3);
  s.add(2);
  CHECK(s.decide_both() == "2>1+3");
  SUBCASE("the engine that prefills closes") {
    s.router.close({1}, true);
    CHECK(s.decide_both() == "2>0+3");
  }
  SUBCASE("the engine that decodes closes") {
    s.router.close({3}, true);
    CHECK(s.decide_both() == "1>2 2>1+2");
  }
  SUBCASE("a decoding request is preempted") {
    s.router.on_preempted({{}, {3}, {request_id{1}}});
    CHECK(s.decide_both() == "1>2");
  }
  SUBCASE("the emptiest engine is emptied: only those that decode") {
    s.arrive(2, 2);
    s.router.consolidate(s.now);
    CHECK(s.decide_both() == "2>3");
  }
  SUBCASE("an operator moves it") {
    CHECK(s.router.migrate({2}, {0}, s.now).empty());
    CHECK(s.router.migrate({1}, {2}, s.now).empty());
    CHECK(s.decide_both() == "2>0+3 1>2");
    CHECK(s.router.migrate({2}, {3}, s.now).empty());
    CHECK(s.decide_both() == "2>3");
    CHECK(s.engine(3).expected.empty());
  }
}

TEST_CASE("disaggregated: a new router learns where a request is to be decoded") {
  phases_stage s(1, 2);
  auto r = s.request(1);
  r.at = {0};
  r.decode_at = {1};
  s.add(r);
  CHECK(s.decide_both().empty());
  CHECK(s.engine(1).expected.size() == 1);
  s.router.clear();
  CHECK(s.engine(1).sequences == 0);
}

TEST_CASE("disaggregated: a late request is refused by the engines that prefill") {
  phases_stage s(1, 1);
  s.forecast(0, 5000);
  auto busy = s.request(1);
  s.add(busy);
  CHECK(s.decide_both() == "1>0+1");
  auto r = s.request(2);
  r.due = s.now + 100ms;
  s.add(r);
  CHECK(s.decide_both() == "2!late");
}

TEST_CASE("disaggregated: engines that take whole requests keep the targets of those that decode") {
  phases_stage s(1, 1);
  s.decide_both();
  s.now += 2s;
  s.report(0);
  s.forecast(0);
  s.router.lose_engine({1});
  for (uint64_t id = 1; id <= 3; ++id) {
    auto r = s.request(id);
    r.tpot = 12ms;  // two sequences at most
    s.add(r);
  }
  CHECK(s.decide_both() == "1>0 2>0");
}

TEST_CASE("disaggregated: a request that moves is not also given another engine to decode it") {
  phases_stage s(1, 3);
  s.add(1);
  CHECK(s.decide_both() == "1>0+3");
  s.router.close({0}, true);
  s.router.lose_engine({3});
  s.now += 2s;
  for (const uint32_t e : {0u, 1u, 2u}) s.report(e);
  CHECK(s.decide_both() == "1>2");
  CHECK(s.engine(2).expected.empty());
  CHECK(s.sequences(2) == 1);
}

TEST_CASE("disaggregated: a new router names another engine for one that never appears") {
  phases_stage s(1, 2);
  auto r = s.request(1);
  r.at = {0};
  r.decode_at = {2};
  s.router.lose_engine({2});
  s.add(r);
  CHECK(s.decide_both().empty());
  s.now += 2s;
  s.report(0);
  s.report(1);
  CHECK(s.decide_both() == "1>0+1");
}

TEST_CASE("disaggregated: requests that are expected take adapter slots") {
  phases_stage s(1, 2, "affinity");
  for (const uint32_t e : {0u, 1u, 2u})
    for (const char* adapter : {"a", "b", "c", "d"}) s.know(e, adapter);
  uint64_t id = 0;
  for (const char* adapter : {"a", "b", "c", "a"}) {
    auto r = s.request(++id);
    r.adapter = adapter;
    s.add(r);
  }
  CHECK(s.decide_both() == "1>0+2 2>0+2 3>0+2 4>0+2");
  s.arrive(1, 2);
  s.end({1});
  auto other = s.request(9);
  other.adapter = "d";  // the slots of engine 2 are those of expected requests
  s.add(other);
  CHECK(s.decide_both() == "9>0+1");
}

TEST_CASE("disaggregated: an operator moves a request to the engine that keeps room for it") {
  phases_stage s(1, 1);
  for (uint64_t id = 1; id <= 4; ++id) s.add(id);
  CHECK(s.decide_both() == "1>0+1 2>0+1 3>0+1 4>0+1");
  CHECK(s.router.migrate({1}, {1}, s.now).empty());
  CHECK(s.decide_both() == "1>1");
}
