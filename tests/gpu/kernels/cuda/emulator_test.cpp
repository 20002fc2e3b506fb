// Tests that the emulator detects errors: each kernel here is correct, or wrong in one place.
#include "tests/gpu/kernels/cuda/emulator.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace troupe;
using namespace troupe::cuda;

namespace {

/// Each thread passes its number to its neighbour through shared memory.
struct hand_over {
  static constexpr uint32_t threads = 64, cluster = 1;
  size_t shared_bytes() const { return threads * sizeof(uint32_t); }
  uint32_t* out;
  bool waits = true;
  template <class Thread>
  TROUPE_DEVICE void operator()(Thread t) const {
    auto* shown = t.template shared<uint32_t>();
    shown[t.index()] = t.block() * threads + t.index();
    if (waits) t.sync();
    out[t.block() * threads + t.index()] = shown[(t.index() + 33) % threads];
  }
};

int wrong(bool waits, uint32_t seed) {
  std::vector<uint32_t> out(3 * 64, 7);
  emulate(hand_over{out.data(), waits}, {3, 1, 1}, seed);
  int count = 0;
  for (uint32_t i = 0; i < out.size(); ++i) count += out[i] != i / 64 * 64 + (i + 33) % 64;
  return count;
}

/// Sums over a cluster, through the shared memory of its blocks.
struct cluster_sum {
  static constexpr uint32_t threads = 32, cluster = 4;
  size_t shared_bytes() const { return threads * sizeof(float); }
  float* out;
  bool stays = true;  ///< stays until the others have read
  template <class Thread>
  TROUPE_DEVICE void operator()(Thread t) const {
    auto* mine = t.template shared<float>();
    mine[t.index()] = static_cast<float>(t.block() + 1);
    t.cluster_sync();
    float sum = 0;
    for (uint32_t rank = 0; rank < cluster; ++rank) sum += t.map_shared_rank(mine, rank)[t.index()];
    out[t.block() * threads + t.index()] = sum;
    if (stays) t.cluster_sync();
  }
};

/// Copies sixteen numbers a thread by way of shared memory.
struct copying {
  static constexpr uint32_t threads = 32, cluster = 1;
  size_t shared_bytes() const { return threads * 32; }
  const float* from;
  float* to;
  int waits = 2;
  template <class Thread>
  TROUPE_DEVICE void operator()(Thread t) const {
    float* mine = t.template shared<float>() + t.index() * 8;
    t.cp_async(mine, from + t.index() * 8);
    t.cp_async_commit_group();
    t.cp_async(mine + 4, from + t.index() * 8 + 4, t.index() != 3);
    t.cp_async_commit_group();
    if (waits == 1) t.template cp_async_wait_group<1>();
    if (waits == 2) t.template cp_async_wait_group<0>();
    for (uint32_t i = 0; i < 8; ++i) to[t.index() * 8 + i] = mine[i];
  }
};

/// A product of matrices [16, 16] [16, 8] through ldmatrix and mma, as the kernels use them.
struct warp_product {
  static constexpr uint32_t threads = 32, cluster = 1;
  size_t shared_bytes() const { return 16 * 16 * 2 + 16 * 16 * 2; }
  const uint16_t *a, *b;  // [16, 16] and [16, 16]
  float* d;               // [16, 16]
  bool transposed;        // b is [column, row]
  template <class Thread>
  TROUPE_DEVICE void operator()(Thread t) const {
    auto* sa = t.template shared<uint16_t>();
    uint16_t* sb = sa + 256;
    for (uint32_t i = t.index(); i < 256; i += 32) sa[i] = a[i], sb[i] = b[i];
    t.sync_warp();
    uint32_t fa[4], fb[4];
    t.ldmatrix(fa, sa + t.lane() % 16 * 16 + t.lane() / 16 * 8);
    if (transposed) t.ldmatrix(fb, sb + (t.lane() / 16 * 8 + t.lane() % 8) * 16 + t.lane() / 8 % 2 * 8);
    if (!transposed) t.ldmatrix_trans(fb, sb + t.lane() % 16 * 16 + t.lane() / 16 * 8);
    for (uint32_t half = 0; half < 2; ++half) {
      float sum[4] = {};
      t.template mma<element::bf16>(sum, fa, fb[half * 2], fb[half * 2 + 1]);
      for (uint32_t i = 0; i < 4; ++i)
        d[(t.lane() / 4 + i / 2 * 8) * 16 + half * 8 + t.lane() % 4 * 2 + i % 2] = sum[i];
    }
  }
};

/// Half of a warp waits for the whole warp.
struct divided {
  static constexpr uint32_t threads = 32, cluster = 1;
  size_t shared_bytes() const { return 0; }
  template <class Thread>
  TROUPE_DEVICE void operator()(Thread t) const {
    if (t.lane() < 16) t.sync_warp();
    if (t.lane() >= 16) t.sync();
  }
};

/// Transposes the numbers 0 .. 63, in rows of eight.
struct transposition {
  static constexpr uint32_t threads = 32, cluster = 1;
  size_t shared_bytes() const { return 0; }
  uint32_t* out;
  template <class Thread>
  void operator()(Thread t) const {
    const uint32_t first = t.lane() * 2;  // in row lane / 4
    out[t.lane()] = t.movmatrix_trans(first | (first + 1) << 16);
  }
};

}  // namespace

TEST_CASE("emulator: threads of a block see writes before a barrier") {
  for (uint32_t seed = 0; seed < 20; ++seed) CHECK(wrong(true, seed) == 0);
}

TEST_CASE("emulator: a missing barrier gives a wrong result") {
  for (uint32_t seed = 0; seed < 20; ++seed) CHECK(wrong(false, seed) > 0);
}

TEST_CASE("emulator: blocks of a cluster read the shared memory of blocks that have not ended") {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    std::vector<float> out(8 * 32, 0);
    emulate(cluster_sum{out.data()}, {8, 1, 1}, seed);
    for (uint32_t i = 0; i < out.size(); ++i) CHECK(out[i] == (i < 128 ? 10 : 26));
    emulate(cluster_sum{out.data(), false}, {8, 1, 1}, seed);
    CHECK(std::any_of(out.begin(), out.end(), [](float x) { return std::isnan(x); }));
  }
}

TEST_CASE("emulator: an asynchronous copy is complete after its wait, with zeros beyond the source") {
  alignas(16) float from[256], to[256];
  std::iota(from, from + 256, 1.0F);
  emulate(copying{from, to}, {1, 1, 1}, 1);
  for (int i = 0; i < 256; ++i) CHECK(to[i] == (i / 8 == 3 && i % 8 >= 4 ? 0 : from[i]));
  emulate(copying{from, to, 1}, {1, 1, 1}, 1);
  for (int i = 0; i < 256; ++i) CHECK((i % 8 < 4 ? to[i] == from[i] : std::isnan(to[i])));
  emulate(copying{from, to, 0}, {1, 1, 1}, 1);
  for (int i = 0; i < 256; ++i) CHECK(std::isnan(to[i]));
}

TEST_CASE("emulator: ldmatrix and mma multiply matrices in shared memory") {
  std::vector<uint16_t> a(256), b(256), bt(256);
  for (uint32_t i = 0; i < 256; ++i) {
    a[i] = bfloat(static_cast<float>(i * 7 % 11) - 5).bits;
    b[i] = bfloat(static_cast<float>(i * 5 % 13) - 6).bits;
    bt[i % 16 * 16 + i / 16] = b[i];
  }
  for (const bool transposed : {false, true}) {
    std::vector<float> d(256, NAN);
    emulate(warp_product{a.data(), transposed ? bt.data() : b.data(), d.data(), transposed}, {1, 1, 1}, 1);
    for (uint32_t i = 0; i < 256; ++i) {
      float sum = 0;
      for (uint32_t k = 0; k < 16; ++k)
        sum += element_at(a.data(), element::bf16, i / 16 * 16 + k) *
               element_at(b.data(), element::bf16, k * 16 + i % 16);
      CHECK(d[i] == sum);
    }
  }
}

TEST_CASE("emulator: a fragment is transposed within a warp") {
  uint32_t out[32] = {};
  emulate(transposition{out}, {1, 1, 1}, 1);
  for (uint32_t lane = 0; lane < 32; ++lane) {
    const uint32_t column = lane / 4, row = lane % 4 * 2;
    CHECK(out[lane] == ((row * 8 + column) | (row * 8 + 8 + column) << 16));
  }
}

TEST_CASE("emulator: a deadlock at different barriers is reported") {
  CHECK_THROWS_WITH(emulate(divided{}, {1, 1, 1}, 1),
                    "emulator: threads wait for ever for the others of a block, a warp");
}
