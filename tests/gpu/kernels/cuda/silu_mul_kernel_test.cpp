#include "gpu/kernels/cuda/silu_mul_kernel.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "gpu/kernels/silu_mul.hpp"
#include "tests/gpu/common/wrong_elements.hpp"
#include "tests/gpu/kernels/cuda/machine.hpp"

using namespace troupe;
using namespace troupe::cuda;

namespace {

template <element E>
void check_silu(uint32_t rows, uint32_t width) {
  CAPTURE(name_of(E));
  CAPTURE(rows);
  CAPTURE(width);  // the seed, too
  std::mt19937 random(width);
  number_array both = random_numbers(E, rows * 2 * width, random), out(E, (rows + 1) * width);
  for (size_t i = 0; i < both.size(); i += 5) both.set(i, both.at(i) * 90);  // outside of exp's range
  shared_array<uint32_t> count(1);
  count[0] = rows;
  silu_mul_kernel<E> k;
  k.rows = count.data(), k.gate_up = both.data(), k.out = out.data(), k.width = width;
  run_kernel(k, k.grid(rows + 1), 1);
  std::vector<float> floats(both.size()), expected(rows * width);
  for (size_t i = 0; i < floats.size(); ++i) floats[i] = both.at(i);
  kernels::silu_mul_reference(
      {floats.data(), floats.data() + width, 2 * width, 2 * width, expected.data(), width, rows, width});
  // rounded once; half a step for subnormal results
  const double roundoff = E == element::bf16 ? 0x1p-8 : 0x1p-11,
               smallest = E == element::bf16 ? 1e-36 : 0x1p-24;
  wrong_elements wrong;
  int written = 0;
  for (size_t i = 0; i < expected.size(); ++i)
    wrong.check(
        std::abs(double{out.at(i)} - expected[i]) <= std::abs(expected[i]) * roundoff * 1.01 + smallest, i,
        expected[i], out.at(i));
  for (size_t i = expected.size(); i < out.size(); ++i) written += out[i] != 0xffff;
  CHECK(wrong == 0);
  CHECK(written == 0);
  CHECK(out.intact());
}

}  // namespace

TEST_CASE("silu mul kernel: rows of any width") {
  for (const uint32_t width : {8, 288, 2048, 2056}) {
    check_silu<element::bf16>(3, width);
    check_silu<element::f16>(1, width);
  }
}
