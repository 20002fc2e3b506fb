#include "policies/batching/domain_move.hpp"

#include <doctest/doctest.h>

using namespace troupe;

TEST_CASE("domain_move: the revision is confirmed once, when nothing runs in the domain that is left") {
  domain_move m;
  const auto free = [](uint32_t) { return false; };
  CHECK_FALSE(m.finish(free));
  m.begin(8, 3);
  CHECK_FALSE(m.finish([](uint32_t domain) { return domain == 3; }));
  CHECK(m.finish([](uint32_t domain) { return domain == 2; }) == uint64_t{8});
  CHECK_FALSE(m.finish(free));
}

TEST_CASE("domain_move: a later line of the log replaces the move or cancels it") {
  domain_move m;
  m.begin(8, 3);
  m.begin(9, 2);
  CHECK(m.finish([](uint32_t domain) { return domain == 3; }) == uint64_t{9});
  m.begin(10, 3);
  m.cancel();
  CHECK_FALSE(m.finish([](uint32_t) { return false; }));
}
