#include "policies/llm/routed_engine.hpp"

#include <doctest/doctest.h>

using namespace troupe;

namespace {

/// Four sequences, 160 positions in blocks of 10.
routed_engine open_engine(instance_phase phase = instance_phase::both) {
  routed_engine e;
  e.up = true;
  e.said.ready = true;
  e.said.phase = phase;
  e.said.kv_tokens = 160;
  e.said.block_tokens = 10;
  e.said.max_sequences = 4;
  e.said.adapter_slots = 2;
  e.said.steps = {10ms, 1ms, 100us};
  return e;
}

routed_request routed(uint64_t id, uint64_t tokens = 10) {
  routed_request r;
  r.id = request_id{id};
  r.tokens = tokens;
  return r;
}

constexpr time_point start{1000s};

}  // namespace

TEST_CASE("routed engine: requests that others prefill for it take room from their placement on") {
  auto e = open_engine();
  CHECK(e.has_room({9, 1000, {}}));  // it has nothing
  e.expect(routed(1, 100), no_adapter);
  CHECK(e.sequences == 1);
  CHECK(e.free_tokens() == 60);
  CHECK(e.has_room({1, 40, {}}));
  CHECK_FALSE(e.has_room({1, 41, {}}));
  e.expect_no_more(routed(1, 100), no_adapter);
  e.put(routed(1, 100), no_adapter);
  e.add_fresh({start, 100, 0});
  CHECK(e.sequences == 1);
  CHECK(e.free_tokens() == 60);
  CHECK(e.uncomputed_tokens() == 0);
  e.forget_fresh(start);
  CHECK(e.free_tokens() == 160);
  e.take(routed(1, 100), no_adapter);
  CHECK(e.sequences == 0);
}

TEST_CASE("routed engine: TPOT targets bound the sequences that it decodes, but not those that it prefills") {
  for (const auto phase : {instance_phase::both, instance_phase::prefill, instance_phase::decode}) {
    auto e = open_engine(phase);
    e.put(routed(1), no_adapter);
    e.put(routed(2), no_adapter);
    const bool only_prefills = phase == instance_phase::prefill;
    CHECK(e.has_room({1, 10, 13ms}, only_prefills));
    CHECK(e.has_room({1, 10, 12ms}, only_prefills) == only_prefills);
  }
}

TEST_CASE("routed engine: a prompt is in time by what is to be prefilled before it") {
  for (const bool only_prefills : {false, true}) {
    auto e = open_engine();
    e.said_at = start;
    e.said.uncomputed_tokens = 1000;
    e.put(routed(1), no_adapter);
    auto r = routed(2, 100);
    r.due = start + 130ms;  // 10 + 100 ms, then 10 + 10 ms; and 1 ms a step for a sequence that decodes
    CHECK(e.in_time(r, start, only_prefills) == only_prefills);
    r.due = start + 132ms;
    CHECK(e.in_time(r, start, only_prefills));
    e.add_fresh({start + 1ms, 50, 40});
    CHECK(e.uncomputed_tokens() == 1040);
    CHECK_FALSE(e.in_time(r, start + 2ms, only_prefills));
    r.started = true;
    CHECK(e.in_time(r, start + 2ms, only_prefills));
  }
}

TEST_CASE("routed engine: adapters take slots by use, and those that run keep them") {
  auto e = open_engine();
  auto r = routed(1);
  e.put(r, 1);
  e.put(routed(2), 2);
  e.put(routed(3), 2);
  e.put(routed(4), 3);
  CHECK(e.resident == std::vector<adapter_number>{1, 2, 3});  // all run: more than there are slots
  e.take(r, 1);
  CHECK(e.resident == std::vector<adapter_number>{2, 3});
  e.take(routed(2), 2);
  CHECK(e.running.size() == 2);
  e.adapters = {false, true};
  CHECK(e.has(no_adapter));
  CHECK(e.has(1));
  CHECK_FALSE(e.has(2));
}

TEST_CASE(
    "routed engine: a request beyond its KV cache, or of an adapter that it lacks, can never run there") {
  auto e = open_engine();
  CHECK(e.may_have(routed(1, 160), no_adapter));
  CHECK_FALSE(e.may_have(routed(1, 161), no_adapter));
  CHECK_FALSE(e.may_have(routed(1), 1));
  auto two = routed(1, 320);
  two.sequences = 2;
  CHECK(e.may_have(two, no_adapter));
  e.closed = true;
  CHECK_FALSE(e.may_have(routed(1), no_adapter));
}
