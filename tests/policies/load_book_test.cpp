#include "policies/load_book.hpp"

#include <doctest/doctest.h>

using namespace troupe;

TEST_CASE("the load is what all models need over the slots") {
  load_book b;
  CHECK(b.load(8) == 0);
  b.set(model_id{3}, 2.5);
  b.set(model_id{0}, 1.5);
  CHECK(b.load(8) == doctest::Approx(0.5));
  b.set(model_id{3}, 6.5);  // replaces
  CHECK(b.load(8) == doctest::Approx(1));
  b.remove(model_id{0});
  b.remove(model_id{7});  // never seen
  CHECK(b.load(13) == doctest::Approx(0.5));
}

TEST_CASE("without slots the load is that of one") {
  load_book b;
  b.set(model_id{0}, 2);
  CHECK(b.load(0) == doctest::Approx(2));
}

TEST_CASE("a sum that changed a million times is still exact") {
  load_book b;
  for (uint32_t i = 0; i < 1'000'000; ++i) b.set(model_id{i % 17}, 0.1 * (i % 23));
  for (uint32_t m = 0; m < 17; ++m) b.set(model_id{m}, 1);
  CHECK(b.load(17) == 1);
}
