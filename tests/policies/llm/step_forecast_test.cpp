#include "policies/llm/step_forecast.hpp"

#include <doctest/doctest.h>

using namespace troupe;
using namespace troupe::llm;

namespace {
constexpr step_forecast steps{10ms, 1ms, 100us};
}

TEST_CASE("a prefill takes a step for each chunk, beside the decodes") {
  CHECK(prefill_time(0, 64, 3, steps) == 0ms);
  CHECK(prefill_time(1, 64, 0, steps) == 10100us);
  CHECK(prefill_time(64, 64, 3, steps) == 13ms + 6400us);
  CHECK(prefill_time(65, 64, 3, steps) == 26ms + 6500us);
  CHECK(prefill_time(1000, 64, 3, {}) == 0ms);
}

TEST_CASE("a target for tokens bounds the sequences that run, but one always may") {
  CHECK(sequences_within(0ms, 0, steps) == UINT32_MAX);
  CHECK(sequences_within(20ms, 0, {}) == UINT32_MAX);
  CHECK(sequences_within(20ms, 0, steps) == 10);
  CHECK(sequences_within(20ms, 50, steps) == 5);  // prompts take 5 ms of each step
  CHECK(sequences_within(10ms, 0, steps) == 1);
  CHECK(sequences_within(1ms, 0, steps) == 1);
  CHECK(sequences_within(20ms, 0, {10ms, 0ms, 0ms}) == UINT32_MAX);
  CHECK(sequences_within(9ms, 0, {10ms, 0ms, 0ms}) == 1);
}
