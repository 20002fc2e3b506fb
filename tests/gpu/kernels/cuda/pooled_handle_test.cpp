#include "gpu/kernels/cuda/pooled_handle.hpp"

#include <doctest/doctest.h>

using troupe::cuda::pooled_handle;

TEST_CASE("kept handles are reused on their device, and no handle is made while one is idle") {
  int made[3] = {}, count = 0;
  const auto make = [&] { return &made[count++]; };
  {
    const pooled_handle<int*> first(0, make), second(0, make);
    CHECK(count == 2);
    CHECK(first != second);
  }
  const pooled_handle<int*> third(0, make), elsewhere(1, make);
  CHECK(count == 3);  // the second device has its own
  CHECK(third != nullptr);
  CHECK(elsewhere == &made[2]);
}

TEST_CASE("kept handles: a moved handle has one owner, and a failed one has none") {
  long made = 0;
  int count = 0;
  const auto make = [&] { return ++count, &made; };
  {
    pooled_handle<long*> first(0, make), none;
    none = std::move(first);
    CHECK(first == nullptr);
    CHECK(none == &made);
  }
  const pooled_handle<long*> again(0, make);
  CHECK(count == 1);
  CHECK_THROWS_AS(pooled_handle<long*>(0, []() -> long* { throw 1; }), int);
}
