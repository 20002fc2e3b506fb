#include <doctest/doctest.h>

#include "gpu/kernels/cuda/bench/bench_targets.hpp"

using namespace troupe::cuda;

TEST_CASE("bench targets: a target is a time, a share of the limit, or relative to another row") {
  const device_limits limits{1e12, 1e15};
  const std::vector<bench_row> rows{
      {"lora", "r16 4096->4096 distinct 16", 7},
      {"decode step, 7B bf16", "batch 32 kv 512 heads 32:32", 1000, 5e8},  // 500 us at the limit
      {"decode step, 7B bf16", "batch 32 kv 512 heads 32:32 r16 distinct", 1100, 6e8},
      {"lora", "r16 4096->4096 distinct 17", 7}};
  CHECK(target_us(rows[0], rows, limits) == 5);
  CHECK(target_us(rows[1], rows, limits).value() == doctest::Approx(500 / 0.72));
  CHECK(target_us(rows[2], rows, limits).value() == doctest::Approx(1200));
  CHECK_FALSE(target_us(rows[3], rows, limits));
  CHECK_FALSE(target_us(rows[2], {rows[2]}, limits));
}

TEST_CASE("bench targets: the share of the limit is that of products if there are any, else of bytes") {
  const device_limits limits{1e12, 1e15};
  CHECK(share_of_limit({"copy", "", 1000, 5e8}, limits) == doctest::Approx(0.5));
  CHECK(share_of_limit({"gemm", "", 1000, 5e8, 2.5e11}, limits) == doctest::Approx(0.25));
  CHECK(share_of_limit({"gemm f32", "", 1000, 5e8, 2.5e11, 5e14}, limits) == doctest::Approx(0.5));
}
