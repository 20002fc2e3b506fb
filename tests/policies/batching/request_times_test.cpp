#include "policies/batching/request_times.hpp"

#include <doctest/doctest.h>

#include "tests/policies/common/moments.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

constexpr latency_model row_latency{1ms, 5ms};

request due_by(double deadline) {
  request r;
  r.rows = 2;
  r.arrival = ms(10);
  r.deadline = ms(deadline);
  return r;
}

}  // namespace

TEST_CASE("request_times: a request takes the network, its batch and the response") {
  const request_times t{{2ms, 1ms}, 3ms, {}};
  const auto r = due_by(24);
  CHECK(t.alone(r, row_latency) == 14ms);
  CHECK_FALSE(t.infeasible(r, row_latency));
  CHECK(t.infeasible(due_by(23.9), row_latency));
}

TEST_CASE("request_times: an SLO tightens the deadline of plans, and never loosens it") {
  request_times t;
  CHECK(t.planned_deadline(due_by(24)) == ms(24));
  t.slo = 5ms;
  CHECK(t.planned_deadline(due_by(24)) == ms(15));
  t.slo = 1s;
  CHECK(t.planned_deadline(due_by(24)) == ms(24));
}

TEST_CASE("request_times: patience is the remaining time minus the batch, its network and twice the margin") {
  const request_times t{{2ms, 1ms}, 3ms, 500us};
  CHECK(t.patience(due_by(40), 4, row_latency, ms(12)) == 12ms);  // 28 - 9 - 6 - 1
}
