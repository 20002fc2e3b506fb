// wgmma in the way kernels use it: on a GPU this tests the instructions that the emulator replaces.
#include <doctest/doctest.h>

#include "gpu/kernels/cuda/kv_tiles.hpp"
#include "tests/gpu/common/wrong_elements.hpp"
#include "tests/gpu/kernels/cuda/machine.hpp"

using namespace troupe;
using namespace troupe::cuda;

namespace {

/// The part of the wgmma protocol that is left out.
enum class omission { none, fence, fence_proxy, wait, operand };

/// Two warpgroups: d [128, N] = a [128, K] b + 1, where b is [N, K], or [K, N] if it is transposed. K and N:
/// 64 or 128, the rows of b 64.
template <element E, bool Transposed, uint32_t K, uint32_t N, omission Omits>
struct product {
  static constexpr uint32_t threads = 256, cluster = 1;
  static constexpr uint32_t width = Transposed ? N : K;  // of b's rows
  static_assert((Transposed ? K : N) == 64);
  using tile = kv_tile<width, threads>;
  size_t shared_bytes() const { return tile::size * sizeof(uint16_t); }
  const uint16_t *a, *b;
  float* d;

  template <class Thread>
  TROUPE_DEVICE void operator()(Thread t) const {
    auto* shared = t.template shared<uint16_t>();
    for (uint32_t i = t.index(); i < 64 * width / 8; i += threads)
      t.cp_async(shared + tile::place(i / (width / 8), i % (width / 8)), b + i * 8);
    t.cp_async_commit_group();
    t.template cp_async_wait_group<0>();
    if constexpr (Omits != omission::fence_proxy) t.fence_proxy_async();
    t.sync();

    const uint32_t row = t.warp() * 16 + t.lane() / 4, column = t.lane() % 4 * 2;
    uint32_t first[K / 16][4];
    TROUPE_UNROLL for (uint32_t s = 0; s < K / 16; ++s) {
      TROUPE_UNROLL for (uint32_t i = 0; i < 4; ++i)
          memcpy(&first[s][i], a + (row + i % 2 * 8) * K + 16 * s + i / 2 * 8 + column, 4);
    }
    float sums[N / 8][4];
    TROUPE_UNROLL for (uint32_t n = 0; n < N / 8; ++n) {
      TROUPE_UNROLL for (uint32_t i = 0; i < 4; ++i) sums[n][i] = Transposed ? 1 : 100;
    }
    const auto descriptor = t.smem_descriptor(shared, tile::panel * 2);
    if constexpr (Omits != omission::fence) t.wgmma_fence();
    TROUPE_UNROLL for (uint32_t s = 0; s < K / 16; ++s) t.template wgmma_mma_async<E, Transposed>(
        sums, first[s], descriptor, Transposed ? s * 16 * 128 : s / 4 * tile::panel * 2 + s % 4 * 32,
        Transposed || s > 0);
    t.wgmma_commit_group();
    if constexpr (Omits == omission::operand) first[K / 16 - 1][0] = 0;  // before it was read
    if constexpr (Omits != omission::wait) t.template wgmma_wait_group<0>(sums);
    write(t, sums);
  }
  template <class Thread>
  TROUPE_DEVICE void write(Thread t, const float (&sums)[N / 8][4]) const {
    TROUPE_UNROLL for (uint32_t n = 0; n < N / 8; ++n) {
      TROUPE_UNROLL for (uint32_t i = 0; i < 4; ++i)
          d[(t.warp() * 16 + t.lane() / 4 + i / 2 * 8) * N + 8 * n + t.lane() % 4 * 2 + i % 2] = sums[n][i];
    }
  }
};

template <element E, bool Transposed, uint32_t K, uint32_t N, omission Omits = omission::none>
wrong_elements wrong(uint32_t order = 0) {
  std::mt19937 random(K + N);
  const number_array a = random_numbers(E, 128 * K, random), b = random_numbers(E, K * N, random);
  shared_array<float> d(128 * N);
  run_kernel(product<E, Transposed, K, N, Omits>{a.data(), b.data(), d.data()}, {1, 1, 1}, order);
  wrong_elements wrong;
  for (uint32_t i = 0; i < d.size(); ++i) {
    double sum = Transposed ? 1 : 0;  // the accumulator's old value is added, or not
    for (uint32_t k = 0; k < K; ++k)
      sum += double{a.at(i / N * K + k)} * b.at(Transposed ? k * N + i % N : i % N * K + k);
    wrong.check(std::abs(d[i] - sum) < 1e-4, i, sum, d[i]);
  }
  return wrong;
}

}  // namespace

TEST_CASE("wgmma: the second operand is K-major or N-major") {
  for (uint32_t order = 0; order < orders; ++order) {
    CHECK(wrong<element::bf16, false, 64, 64>(order) == 0);
    CHECK(wrong<element::f16, false, 128, 64>(order) == 0);
    CHECK(wrong<element::bf16, true, 64, 64>(order) == 0);
    CHECK(wrong<element::f16, true, 64, 128>(order) == 0);
    CHECK(wrong<element::bf16, true, 64, 128>(order) == 0);
  }
}

#ifndef __CUDACC__
TEST_CASE("wgmma: the emulator detects a missing fence or wait, and an operand overwritten too early") {
  constexpr element e = element::bf16;
  CHECK_THROWS_WITH((wrong<e, false, 128, 64, omission::fence>()), "emulator: a wgmma before wgmma_fence");
  CHECK_THROWS_WITH((wrong<e, false, 128, 64, omission::fence_proxy>()),
                    "emulator: a wgmma reads a copy without fence_proxy_async");
  CHECK(wrong<e, false, 128, 64, omission::wait>() == 128 * 64);
  CHECK_FALSE(wrong<e, false, 128, 64, omission::operand>() == 0);
}
#endif
