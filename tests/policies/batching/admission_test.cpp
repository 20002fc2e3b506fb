#include "policies/batching/admission.hpp"

#include <doctest/doctest.h>

#include "tests/policies/common/moments.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

constexpr uint32_t unbounded = ~0u;

/// Seconds of a steady stream, in steps of 10 ms.
void pass(admission& a, duration from, duration to, uint32_t served, uint32_t lost) {
  for (auto t = from; t < to; t += 10ms) {
    a.served(at(t), served);
    if (lost > 0) a.lost(at(t), lost);
  }
}

}  // namespace

TEST_CASE("all requests may wait while almost none is lost") {
  admission a;
  CHECK(a.bound(at(0s), 100ms, 5, 1) == unbounded);
  pass(a, 0s, 3s, 40, 1);
  CHECK(a.bound(at(3s), 100ms, 5, 1) == unbounded);
}

TEST_CASE("in overload the bound is the rows that leave within a newcomer's patience, minus a batch") {
  admission a;
  pass(a, 0s, 3s, 4, 16);  // 400 rows a second, of 2000
  CHECK(a.bound(at(3s), 100ms, 5, 1) == 35);
  CHECK(a.bound(at(3200ms), 50ms, 5, 1) == doctest::Approx(15).epsilon(0.15));
}

TEST_CASE("requests that keep the slots busy may always wait") {
  admission a;
  pass(a, 0s, 3s, 4, 16);
  CHECK(a.bound(at(3s), 100ms, 16, 3) == 64);
  CHECK(a.bound(at(3200ms), -1s, 16, 3) == 64);
}

TEST_CASE("of several queues of a model each keeps its part of the slots busy") {
  admission three(3);
  pass(three, 0s, 3s, 16, 64);
  CHECK(three.bound(at(3s), -1s, 16, 1) == 16);
  CHECK(three.bound(at(3s), -1s, 16, 2) == 16);
  CHECK(three.bound(at(3s), -1s, 16, 6) == 48);
  CHECK(three.bound(at(3200ms), -1s, 2, 1) == 16);  // a small batch does not make the next ones small
  three.forget();
  CHECK(three.bound(at(3300ms), -1s, 2, 2) == unbounded);
}

TEST_CASE("the bound is gone two seconds after the overload") {
  admission a;
  pass(a, 0s, 3s, 4, 16);
  CHECK(a.bound(at(3s), 100ms, 5, 1) == 35);
  pass(a, 3s, 6s, 4, 0);
  CHECK(a.bound(at(6s), 100ms, 5, 1) == unbounded);
}
