#include "policies/llm/prefill_timing.hpp"

#include <doctest/doctest.h>

using namespace troupe;
using namespace troupe::llm;

namespace {

constexpr time_point asked_at{1s};

std::unique_ptr<prefill_timing> named(std::string_view name) { return (*prefill_timings().find(name))(); }

/// One prompt of a hundred tokens with a target of half a second, on an engine without other sequences.
prefill_queue one() {
  return {.now = asked_at,
          .waiting = 1,
          .places = 32,
          .tokens = 100,
          .chunk = 512,
          .decodes = 0,
          .due = asked_at + 500ms,
          .steps = {10ms, 1ms, 100us}};
}

}  // namespace

TEST_CASE("eager: prompts begin with the next step") { CHECK(named("eager")->begin(one()) <= asked_at); }

TEST_CASE("deferred: prompts begin when they just have their first token in time") {
  const auto p = named("deferred");
  CHECK(p->begin(one()) == asked_at + 500ms - 24ms);  // 20 ms by the forecast, and a fifth of it to spare
  auto q = one();
  q.due = asked_at + 23ms;
  CHECK(p->begin(q) <= asked_at);
  q.due = asked_at - 1ms;
  CHECK(p->begin(q) <= asked_at);
}

TEST_CASE("deferred: beside decodes the next step must end before it is too late") {
  const auto p = named("deferred");
  auto q = one();
  q.decodes = 5;  // steps take 15 ms, the prefill 25
  CHECK(p->begin(q) == asked_at + 500ms - 30ms);
  q.due = asked_at + 30ms + 16ms;
  CHECK(p->begin(q) == asked_at + 16ms);
  q.due = asked_at + 30ms + 14ms;
  CHECK(p->begin(q) <= asked_at);
}

TEST_CASE("deferred: prompts that fill a step, or lack a target or a forecast, do not wait") {
  const auto p = named("deferred");
  auto full = one();
  full.tokens = 512;
  CHECK(p->begin(full) <= asked_at);
  auto last = one();
  last.waiting = last.places = 4;
  CHECK(p->begin(last) <= asked_at);
  auto free = one();
  free.due = long_ago;
  CHECK(p->begin(free) <= asked_at);
  auto unknown = one();
  unknown.steps = {};
  CHECK(p->begin(unknown) <= asked_at);
}
