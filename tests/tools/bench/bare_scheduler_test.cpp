// A separate program, because it counts all allocations of the program.
#include "tools/bench/bare_scheduler.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <new>

namespace {
uint64_t allocations = 0;
}

void* operator new(std::size_t size) {
  ++allocations;
  if (void* p = std::malloc(size)) return p;
  throw std::bad_alloc{};
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }

using namespace troupe;

namespace {

struct used {
  double requests, batches, allocations;
};

/// Allocations in this time, once everything has reached its full size.
used of_a_steady_run(const bare_scheduler_options& o) {
  constexpr duration time = 250ms;
  bare_scheduler s(o);
  s.run(1s);
  const auto requests = s.requests(), batches = s.batches(), before = allocations;
  s.run(time);
  return {static_cast<double>(s.requests() - requests), static_cast<double>(s.batches() - batches),
          static_cast<double>(allocations - before)};
}

}  // namespace

TEST_CASE("a bare scheduler serves everything in batches of nearly the size that the SLO allows") {
  bare_scheduler_options o;
  o.models = 4;
  o.gpus = 64;
  o.requests_per_second = 40'000;
  bare_scheduler s(o);
  s.run(1s);
  CHECK(s.dropped() == 0);
  CHECK(static_cast<double>(s.requests()) == doctest::Approx(40'000).epsilon(0.02));
  CHECK(static_cast<double>(s.requests()) / static_cast<double>(s.batches()) > 45);
}

TEST_CASE("queues and arbiter allocate for turns and batches, and nothing for a request") {
  for (const uint32_t log : {0u, 1024u}) {
    CAPTURE(log);
    bare_scheduler_options o;
    o.models = 2;
    o.gpus = 512;
    o.decision_log = log;
    o.requests_per_second = 100'000;
    const auto few = of_a_steady_run(o);
    // Batches are four times as large, so their number hardly grows.
    o.requests_per_second = 400'000;
    o.latency.alpha /= 4;
    const auto many = of_a_steady_run(o);
    REQUIRE(many.requests > 3.9 * few.requests);
    REQUIRE(many.batches < 1.2 * few.batches);
    CHECK(many.allocations < 1.2 * few.allocations);
    CHECK(many.allocations < 0.25 * many.requests);
    MESSAGE(few.allocations, " and ", many.allocations, " for ", few.requests, " and ", many.requests, " in ",
            few.batches, " and ", many.batches);
  }
}
