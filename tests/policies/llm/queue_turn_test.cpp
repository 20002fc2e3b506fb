#include "policies/llm/queue_turn.hpp"

#include <doctest/doctest.h>

using namespace troupe;

TEST_CASE("queue turn: started requests come first, then by due time, ten seconds without a target") {
  constexpr time_point now{100s};
  CHECK(queue_turn(now, now + 1s, false) == now + 1s);
  CHECK(queue_turn(now, never, false) == now + 10s);
  CHECK(queue_turn(now, now + 1s, true) < queue_turn(now - 1h, now - 1h, false));
  CHECK(queue_turn(never, never, false) == never);  // a frame may contain any time
}
