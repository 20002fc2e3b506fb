// Asks an installed policy for the start of a batch: prints "2 rows at 6.5 ms".
#include <cstdio>

#include "messages/wire/wire.hpp"
#include "policies/registry/batchings.hpp"

int main() {
  using namespace troupe;
  const auto policy = make_batching("deferred", "timeout",
                                    {.latency = {1ms, 500us}, .network = {}, .slo = 10ms, .max_rows = 8});
  const time_point start{};
  for (uint64_t i = 1; i <= 2; ++i) policy->add({start + 10ms, request_id{i}}, start);
  policy->update(start, long_ago);
  std::printf("%u rows at %.1f ms\n", policy->window().rows, to_ms(policy->window().exec_at - start));
}
