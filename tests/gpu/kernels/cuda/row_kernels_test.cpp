#include "gpu/kernels/cuda/row_kernels.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/gpu/common/wrong_elements.hpp"
#include "tests/gpu/kernels/cuda/machine.hpp"

using namespace troupe;
using namespace troupe::cuda;

namespace {

shared_array<float> random_floats(size_t n, uint32_t seed) {
  std::mt19937 random(seed);
  shared_array<float> x(n);
  for (size_t i = 0; i < n; ++i) x[i] = static_cast<float>(random() % 2000) / 250 - 4;
  return x;
}

struct row {
  std::vector<double> x;
  double mean() const {
    double sum = 0;
    for (const double v : x) sum += v;
    return sum / static_cast<double>(x.size());
  }
};

/// Runs a kernel over [outer, n, inner] and compares each row with the result of `expected`.
template <class Kernel, class Expected>
void check_rows(Kernel k, uint32_t outer, uint32_t n, uint32_t inner, bool one, const Expected& expected) {
  CAPTURE(outer);
  CAPTURE(n);  // the seed, too
  CAPTURE(inner);
  const auto x = random_floats(size_t{outer} * n * inner, n);
  shared_array<float> y(size_t{outer} * (one ? 1 : n) * inner);
  k.outer = outer, k.n = n, k.inner = inner, k.x = x.data(), k.y = y.data();
  for (uint32_t order = 0; order < orders; ++order) {
    std::memset(y.data(), 0xff, y.size() * sizeof(float));
    run_kernel(k, k.grid(), order);
    wrong_elements wrong;
    for (uint32_t o = 0; o < outer; ++o)
      for (uint32_t j = 0; j < inner; ++j) {
        row r;
        for (uint32_t i = 0; i < n; ++i) r.x.push_back(x[(size_t{o} * n + i) * inner + j]);
        const std::vector<double> wanted = expected(r);
        for (uint32_t i = 0; i < wanted.size(); ++i) {
          const size_t at = (o * wanted.size() + i) * inner + j;
          wrong.check(std::abs(y[at] - wanted[i]) < 2e-5, at, wanted[i], y[at]);
        }
      }
    CHECK(wrong == 0);
    CHECK(y.intact());
  }
}

template <uint32_t Lanes>
void check_all(uint32_t outer, uint32_t n, uint32_t inner) {
  check_rows(softmax_kernel<Lanes>{}, outer, n, inner, false, [](const row& r) {
    double max = -INFINITY, sum = 0;
    for (const double v : r.x) max = std::max(max, v);
    for (const double v : r.x) sum += std::exp(v - max);
    std::vector<double> out;
    for (const double v : r.x) out.push_back(std::exp(v - max) / sum);
    return out;
  });
  check_rows(mean_kernel<Lanes>{}, outer, n, inner, true,
             [](const row& r) { return std::vector<double>{r.mean()}; });
  if (inner > 1) return;
  const auto scale = random_floats(n, 1), shift = random_floats(n, 2);
  for (const bool shifts : {false, true}) {
    layer_norm_kernel<Lanes> k;
    k.scale = scale.data(), k.shift = shifts ? shift.data() : nullptr, k.epsilon = 0.01F;
    check_rows(k, outer, n, 1, false, [&](const row& r) {
      double squares = 0;
      for (const double v : r.x) squares += (v - r.mean()) * (v - r.mean());
      const double deviation = std::sqrt(squares / static_cast<double>(n) + 0.01);
      std::vector<double> out;
      for (uint32_t i = 0; i < n; ++i)
        out.push_back((r.x[i] - r.mean()) / deviation * scale[i] + (shifts ? shift[i] : 0));
      return out;
    });
  }
}

}  // namespace

TEST_CASE("row kernels: a warp for each row, with idle warps and lanes") {
  check_all<32>(1, 1, 1);
  check_all<32>(7, 31, 1);
  check_all<32>(3, 100, 5);
  check_all<32>(5, 64, 1);
}

TEST_CASE("row kernels: a block for each long row") {
  check_all<256>(2, 1500, 1);
  check_all<256>(1, 257, 3);
  check_all<256>(1, 5, 1);
}

TEST_CASE("row kernels: softmax of numbers beyond the range of exp") {
  shared_array<float> x(3), y(3);
  x[0] = 1e4F, x[1] = 1e4F, x[2] = -1e30F;
  softmax_kernel<32> k;
  k.outer = 1, k.n = 3, k.x = x.data(), k.y = y.data();
  run_kernel(k, k.grid());
  CHECK(differences(y, std::vector<float>{0.5F, 0.5F, 0}) == 0);
}
