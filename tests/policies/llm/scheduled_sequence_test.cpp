#include "policies/llm/scheduled_sequence.hpp"

#include <doctest/doctest.h>

using namespace troupe;
using namespace troupe::llm;

namespace {

scheduled_sequence sequence(uint64_t arrival, int32_t priority = 0, time_point turn = {}) {
  return {sequence_id{arrival}, arrival, {1, 2, 3}, 5, base_model, priority, turn, never, {}, {}, {}};
}

}  // namespace

TEST_CASE(
    "batched sequence: it decodes once all but its last token is computed, and is complete at its length") {
  auto t = sequence(1);
  CHECK(t.length() == 3);
  CHECK(t.uncomputed_tokens() == 3);
  CHECK_FALSE(t.decodes());
  t.computed = 2;
  CHECK(t.decodes());
  t.computed = 3, t.awaited = 1;  // a step in flight has computed all of it, and samples the next
  CHECK(t.length() == 4);
  CHECK(t.decodes());
  CHECK(t.uncomputed_tokens() == 1);
  CHECK_FALSE(t.complete());
  t.awaited = 2;
  CHECK(t.complete());
  CHECK_FALSE(t.decodes());
}

TEST_CASE("batched sequence: a prompt of one token is a prompt, not a decode") {
  auto t = sequence(1);
  t.tokens = {1};
  CHECK_FALSE(t.decodes());
  t.computed = 1, t.awaited = 1;
  CHECK(t.decodes());
}

TEST_CASE(
    "batched sequence: sequences wait by priority, turn and arrival, and keep their blocks whatever their "
    "turn") {
  const auto early = time_point{1s}, late = time_point{2s};
  CHECK(sequence(2, 0, late).before(sequence(1, 1, early)));
  CHECK(sequence(2, 0, early).before(sequence(1, 0, late)));
  CHECK(sequence(1, 0, early).before(sequence(2, 0, early)));
  CHECK_FALSE(sequence(1).before(sequence(1)));
  CHECK(sequence(1, 0, late).importance() < sequence(2, 0, early).importance());
  CHECK(sequence(2, 0).importance() < sequence(1, 1).importance());
}
