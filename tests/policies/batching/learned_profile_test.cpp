#include "policies/batching/learned_profile.hpp"

#include <doctest/doctest.h>

using namespace troupe;

namespace {

bool about(duration a, duration b) { return a - b < 10us && b - a < 10us; }

}  // namespace

TEST_CASE("learned profile: batches of one size give a row its share of them") {
  learned_profile p(1s);
  CHECK_FALSE(p.knows());
  p.add(4, 8ms);
  CHECK(p.knows());
  CHECK(p.latency() == latency_model{2ms, {}});
  p.add(4, 8ms);
  CHECK(p.latency() == latency_model{2ms, {}});
}

TEST_CASE("learned profile: batches of several sizes give the line through them") {
  learned_profile p(1s);
  for (int i = 0; i < 8; ++i)
    for (const uint32_t rows : {1u, 8u, 3u}) p.add(rows, 1ms * rows + 4ms);
  CHECK(about(p.latency().alpha, 1ms));
  CHECK(about(p.latency().beta, 4ms));
}

TEST_CASE("learned profile: neither a row nor a batch takes less than no time") {
  learned_profile falling(1s), steep(1s);
  for (int i = 0; i < 10; ++i) {
    falling.add(1, 9ms);
    falling.add(8, 2ms);
    steep.add(2, 1ms);
    steep.add(4, 9ms);
  }
  CHECK(falling.latency().alpha == duration{});
  CHECK(falling.latency().beta > 2ms);
  CHECK(steep.latency().alpha > 1ms);
  CHECK(about(steep.latency().beta, {}));
}

TEST_CASE("learned profile: old batches are forgotten") {
  learned_profile p(1s);
  for (int i = 0; i < 50; ++i) p.add(1, 100ms);
  for (int i = 0; i < 200; ++i) p.add(1, 3ms);
  CHECK(about(p.latency()(1), 3ms));
}

TEST_CASE("learned profile: a row alone takes at most the maximum") {
  learned_profile p(10ms);
  p.add(1, 5s);
  CHECK(about(p.latency()(1), 10ms));
  learned_profile line(10ms);
  for (int i = 0; i < 20; ++i) {
    line.add(1, 30ms);
    line.add(4, 60ms);
  }
  CHECK(about(line.latency()(1), 10ms));
  CHECK(about(line.latency()(4), 20ms));
}

TEST_CASE("learned profile: the first batch counts until there is another one") {
  learned_profile p(1s);
  p.add(1, 400ms);  // it has compiled the shape
  CHECK(p.latency()(1) == 400ms);
  p.add(1, 4ms);
  CHECK(p.latency()(1) == 4ms);
  p.add(1, 6ms);
  CHECK(about(p.latency()(1), 5ms));
}

TEST_CASE("learned profile: it is forgotten if no batch runs during many arrivals") {
  learned_profile p(1s);
  p.add(1, 400ms);
  for (int i = 0; i < 63; ++i) p.arrive();
  CHECK(p.knows());
  p.arrive();
  CHECK_FALSE(p.knows());
  p.add(1, 4ms);
  for (int i = 0; i < 200; ++i) p.arrive(), p.add(1, 4ms);
  CHECK(p.latency()(1) == 4ms);
}
