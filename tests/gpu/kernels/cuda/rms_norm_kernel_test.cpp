#include "gpu/kernels/cuda/rms_norm_kernel.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "gpu/kernels/rms_norm.hpp"
#include "tests/gpu/common/wrong_elements.hpp"
#include "tests/gpu/kernels/cuda/machine.hpp"

using namespace troupe;
using namespace troupe::cuda;

namespace {

/// Rows of a residual stream and their addends.
template <element E>
struct norm_case {
  norm_case(uint32_t r, uint32_t w, uint32_t seed)
      : random(seed),
        rows(r),
        width(w),
        x(r * w),
        delta(random_numbers(E, r * w, random)),
        weight(random_numbers(E, w, random)),
        out(E, r * w),
        count(1) {
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(random() % 2001) / 500 - 2;
    count[0] = r;
  }
  rms_norm_kernel<E> kernel(bool adds) {
    rms_norm_kernel<E> k;
    k.rows = count.data(), k.x = x.data(), k.delta = adds ? delta.data() : nullptr;
    k.weight = weight.data(), k.out = out.data(), k.width = width, k.epsilon = 1e-5F;
    return k;
  }
  std::mt19937 random;
  uint32_t rows, width;
  shared_array<float> x;
  number_array delta, weight, out;
  shared_array<uint32_t> count;
};

template <element E>
void check_norm(uint32_t rows, uint32_t width, bool adds, std::vector<uint32_t> which = {}) {
  const uint32_t seed = rows + width;
  CAPTURE(name_of(E));
  CAPTURE(rows);
  CAPTURE(width);
  CAPTURE(seed);
  norm_case<E> c(rows, width, seed);
  std::vector<float> x = c.x.values(), added(rows * width), weight(width), expected(rows * width);
  for (size_t i = 0; i < added.size(); ++i) added[i] = c.delta.at(i);
  for (size_t i = 0; i < width; ++i) weight[i] = c.weight.at(i);
  const size_t count = which.empty() ? rows : which.size();
  kernels::rms_norm_reference({x.data(), width, adds ? added.data() : nullptr, width,
                               which.empty() ? nullptr : which.data(), weight.data(), 1e-5F, expected.data(),
                               width, count, width});
  shared_array<uint32_t> chosen(which);
  auto k = c.kernel(adds);
  if (!which.empty()) k.which = chosen.data();
  c.count[0] = static_cast<uint32_t>(count);
  run_kernel(k, k.grid(rows + 1), 1);
  CHECK(differences(c.x, x) == 0);  // one addition of floats: the same bits
  // rounded to E once; sum and root differ in the last bits of a float
  const double roundoff = E == element::bf16 ? 0x1p-8 : 0x1p-11;
  wrong_elements wrong;
  int written = 0;
  for (size_t i = 0; i < count * width; ++i)
    wrong.check(std::abs(double{c.out.at(i)} - expected[i]) <= std::abs(expected[i]) * roundoff * 1.01 + 1e-7,
                i, expected[i], c.out.at(i));
  for (size_t i = count * width; i < c.out.size(); ++i) written += c.out[i] != 0xffff;
  CHECK(wrong == 0);
  CHECK(written == 0);
  CHECK(c.out.intact());
  CHECK(c.x.intact());
}

}  // namespace

TEST_CASE("rms norm kernel: rows of any width") {
  for (const uint32_t width : {8, 128, 2048, 2056, 4096}) {
    check_norm<element::bf16>(3, width, true);
    check_norm<element::f16>(2, width, false);
  }
  check_norm<element::bf16>(1, rms_norm_kernel<element::bf16>::max_width, true);
}

TEST_CASE("rms norm kernel: selected rows") {
  check_norm<element::bf16>(5, 264, true, {1, 4});
  check_norm<element::f16>(5, 264, false, {3});
}

TEST_CASE("rms norm kernel: a row's bits do not depend on the batch") {
  norm_case<element::bf16> many(4, 520, 7), one(4, 520, 7);
  auto k = many.kernel(true);
  run_kernel(k, k.grid(4), 2);
  k = one.kernel(true);
  one.count[0] = 1;
  run_kernel(k, k.grid(1), 3);
  CHECK(std::equal(one.out.data(), one.out.data() + 520, many.out.data()));
}
