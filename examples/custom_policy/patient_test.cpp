// Tests one policy with two requests at fixed times, without a clock.
#include <cstdio>

#include "patient.hpp"

using namespace troupe;

namespace {

int failures = 0;

void expect(bool right, const char* what) {
  if (right) return;
  std::printf("wrong: %s\n", what);
  ++failures;
}

/// The start of a batch of one row that arrives at 0, has an SLO of 10 ms and runs for 2 ms.
duration start_with(double fraction) {
  batching_parameters p{.latency = {1ms, 1ms}, .network = {}, .slo = 10ms, .max_rows = 4};
  p.settings.set("fraction", fraction);
  patience::patient policy(p, shedding::timeout);
  const time_point start{};
  policy.add({start + 10ms, request_id{1}}, start);
  policy.update(start, long_ago);
  return policy.window().exec_at - start;
}

}  // namespace

int main() {
  expect(start_with(0) == 0ms, "without patience it starts at once");
  expect(start_with(0.5) == 4ms, "with half of it, in the middle of the 8 ms that it has");
  expect(start_with(1) == 8ms, "with all of it, when it must");
  return failures;
}
