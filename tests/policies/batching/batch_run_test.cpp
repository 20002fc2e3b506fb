#include "policies/batching/batch_run.hpp"

#include <doctest/doctest.h>

using namespace troupe;

TEST_CASE("batch_run: a batch that runs while its node begins a new incarnation is void") {
  batch_run r;
  r.start_over();
  CHECK_FALSE(r.is_void());  // no batch ran
  r.start();
  CHECK(r.active());
  r.stop();
  CHECK(r.stopping());
  r.start_over();
  r.start_over();
  CHECK(r.is_void());
  CHECK(r.end());
  CHECK_FALSE(r.active());
  CHECK_FALSE(r.stopping());
  r.start();
  CHECK_FALSE(r.end());
}
