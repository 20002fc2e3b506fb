#include "gpu/onnx/operators/broadcast.hpp"

#include <doctest/doctest.h>

using namespace troupe::onnx;

TEST_CASE("equal shapes are walked as one run") {
  const auto w = broadcast::of({2, 3, 4}, {2, 3, 4});
  REQUIRE(w);
  CHECK(w->dims == shape{24});
  CHECK(w->a_steps == shape{1});
  CHECK(w->b_steps == shape{1});
}

TEST_CASE("a vector along the last dimension is repeated for every row") {
  const auto w = broadcast::of({2, 3, 4}, {4});
  REQUIRE(w);
  CHECK(w->result == shape{2, 3, 4});
  CHECK(w->dims == shape{6, 4});
  CHECK(w->b_steps == shape{0, 1});
  std::vector<int64_t> outs, bs;
  w->for_each_run([&](int64_t out, int64_t a, int64_t b, int64_t n, int64_t, int64_t) {
    CHECK(out == a);
    CHECK(n == 4);
    outs.push_back(out);
    bs.push_back(b);
  });
  CHECK(outs == std::vector<int64_t>{0, 4, 8, 12, 16, 20});
  CHECK(bs == std::vector<int64_t>(6, 0));
}

TEST_CASE("scalars are one run of one") {
  const auto w = broadcast::of({}, {});
  REQUIRE(w);
  CHECK(w->result.empty());
  CHECK(w->dims == shape{1});
}

TEST_CASE("incompatible shapes have no broadcast") {
  CHECK_FALSE(broadcast::of({2, 3}, {2}));
  CHECK_FALSE(broadcast::of({4}, {3}));
}
