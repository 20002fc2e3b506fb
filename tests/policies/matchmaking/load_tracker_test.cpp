#include "policies/matchmaking/load_tracker.hpp"

#include <doctest/doctest.h>

#include "tests/policies/common/moments.hpp"

using namespace troupe;
using namespace troupe::test;

TEST_CASE("the load is what all models need over the slots") {
  load_tracker b;
  CHECK(b.load(8, the_start) == 0);
  b.set(model_id{3}, 2.5, the_start);
  b.set(model_id{0}, 1.5, the_start);
  CHECK(b.load(8, the_start) == doctest::Approx(0.5));
  b.set(model_id{3}, 6.5, the_start);  // replaces
  CHECK(b.load(8, the_start) == doctest::Approx(1));
  b.remove(model_id{0});
  b.remove(model_id{7});  // never seen
  CHECK(b.load(13, the_start) == doctest::Approx(0.5));
}

TEST_CASE("without slots the load is computed for one slot") {
  load_tracker b;
  b.set(model_id{0}, 2, the_start);
  CHECK(b.load(0, the_start) == doctest::Approx(2));
}

TEST_CASE("a sum that changed a million times is still exact") {
  load_tracker b;
  for (uint32_t i = 0; i < 1'000'000; ++i) b.set(model_id{i % 17}, 0.1 * (i % 23), the_start);
  for (uint32_t m = 0; m < 17; ++m) b.set(model_id{m}, 1, the_start);
  CHECK(b.load(17, the_start) == 1);
}

TEST_CASE("a model without recent updates has no load") {
  load_tracker b;
  b.set(model_id{0}, 3, the_start);
  b.set(model_id{1}, 1, the_start);
  CHECK(b.load(4, the_start + 4s) == doctest::Approx(1));
  b.set(model_id{1}, 1, the_start + 4s);
  CHECK(b.load(4, the_start + 6s) == doctest::Approx(0.25));
  b.set(model_id{0}, 2, the_start + 7s);  // it is back
  CHECK(b.load(4, the_start + 7s) == doctest::Approx(0.75));
}
