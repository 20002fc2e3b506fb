// lora_kernel against the reference of the CPU.
#include "gpu/kernels/cuda/lora_kernel.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <optional>

#include "gpu/kernels/sgmv.hpp"
#include "tests/gpu/common/wrong_elements.hpp"
#include "tests/gpu/kernels/cuda/machine.hpp"

using namespace troupe;
using namespace troupe::cuda;

namespace {

/// An adapter for one projection, in the layouts of the reference and of the kernel.
struct test_adapter {
  test_adapter(element type, uint32_t r, size_t in, size_t out, float factor, std::mt19937& random)
      : rank(r),
        scale(factor),
        a(random_numbers(type, r * in, random)),
        b(random_numbers(type, r * out, random)),
        packed_a(packed_a_bytes(r, in) / 2),
        packed_b(packed_b_bytes(r, out) / 2) {
    pack_lora_a(a.data(), r, in, packed_a.data());
    pack_lora_b(b.data(), r, out, packed_b.data());
  }
  kernels::lora_weights reference() const { return {a.data(), b.data(), rank, scale}; }
  lora_matrices matrices() const {
    return {packed_a.data(), packed_b.data(), rank > 0 ? lora_ranks(rank) : 0, scale};
  }

  uint32_t rank;
  float scale;
  number_array a, b;
  shared_array<uint16_t> packed_a, packed_b;
};

/// A step: rows with some adapters, on projections that share x.
struct lora_case {
  uint32_t in = 64;
  std::vector<uint32_t> outs{64};
  std::vector<uint32_t> ranks{16};  ///< of slot 0, 1, ...
  std::vector<uint32_t> segment_end{0, 1}, slots{0};
  uint32_t tile_rows = narrow_tile;
  uint32_t without = no_adapter;  ///< this slot does not change projection 0
  bool adds = true;

  uint32_t rows() const { return segment_end.back(); }
};

/// The inputs and the outputs: y of each projection.
template <element E>
struct lora_run {
  static constexpr uint32_t gap = 8;  // between rows

  explicit lora_run(const lora_case& c, uint32_t seed)
      : of(c), random(seed), x(random_numbers(E, c.rows() * (c.in + gap), random)) {
    for (uint32_t out : c.outs) {
      const size_t numbers = c.rows() * (out + gap);
      y.push_back(c.adds ? random_numbers(E, numbers, random) : number_array(E, numbers));
    }
    for (uint32_t out : c.outs) {
      for (size_t slot = 0; slot < c.ranks.size(); ++slot) {
        const bool none = slot == c.without && out == c.outs[0];
        adapters.emplace_back(E, none ? 0 : c.ranks[slot], c.in, out, 0.25F + static_cast<float>(slot),
                              random);
      }
    }
  }
  const test_adapter& adapter(size_t projection, size_t slot) const {
    return adapters[projection * of.ranks.size() + slot];
  }
  uint32_t max_ranks() const {
    uint32_t max = 0;
    for (uint32_t rank : of.ranks) max = std::max(max, lora_ranks(rank));
    return max;
  }

  template <class Kernel>
  Kernel kernel() {
    std::vector<lora_tile> cut;
    cut_lora_tiles(of.segment_end, of.slots, of.tile_rows, cut);
    cut.emplace_back();  // like a graph that is larger than the step
    tile_count = static_cast<uint32_t>(cut.size());
    tiles.emplace(cut);
    std::vector<lora_matrices> table;
    for (size_t slot = 0; slot < of.ranks.size(); ++slot)
      for (size_t p = 0; p < of.outs.size(); ++p) table.push_back(adapter(p, slot).matrices());
    matrices.emplace(table);
    Kernel k;
    k.tiles = tiles->data(), k.adapters = matrices->data();
    k.adapter_stride = static_cast<uint32_t>(of.outs.size());
    k.x = x.data(), k.x_stride = of.in + gap, k.in = of.in;
    k.max_ranks = k.v_stride = max_ranks(), k.tile_rows = of.tile_rows, k.adds = of.adds;
    v.clear();
    for (size_t p = 0; p < of.outs.size(); ++p) {
      v.emplace_back(of.rows() * max_ranks());
      k.projections[p] = {of.outs[p], y[p].data(), of.outs[p] + gap, v[p].data()};
    }
    return k;
  }
  template <class Kernel>
  void run(uint32_t order) {
    const auto k = kernel<Kernel>();
    run_kernel(k, k.grid(tile_count, static_cast<uint32_t>(of.outs.size())), order);
  }

  lora_case of;
  std::mt19937 random;
  number_array x;
  std::vector<number_array> y;
  std::vector<test_adapter> adapters;  // [projections, slots]
  uint32_t tile_count = 0;
  std::optional<shared_array<lora_tile>> tiles;
  std::optional<shared_array<lora_matrices>> matrices;
  std::vector<shared_array<float>> v;
};

/// Compares y after a run with the reference from y before it. Beside the rounding of y (unit roundoff 2^-11
/// or 2^-8), splitting v loses at most 2^-16 of it, and float sums have a small error.
template <element E>
void check_result(const lora_run<E>& run, const std::vector<std::vector<uint16_t>>& before) {
  const lora_case& c = run.of;
  const double roundoff = E == element::bf16 ? 0x1p-8 : 0x1p-11;
  for (size_t p = 0; p < c.outs.size(); ++p) {
    const size_t out = c.outs[p], stride = out + run.gap, slots = c.ranks.size();
    wrong_elements wrong, changed;
    for (size_t s = 0; s < c.slots.size(); ++s) {
      const uint32_t slot = c.slots[s];
      for (size_t row = c.segment_end[s]; row < c.segment_end[s + 1]; ++row) {
        std::vector<float> x(c.in), y(out), v(256), terms(out);
        for (size_t k = 0; k < c.in; ++k) x[k] = run.x.at(row * (c.in + run.gap) + k);
        for (size_t n = 0; n < out && c.adds; ++n) y[n] = element_at(before[p].data(), E, row * stride + n);
        const bool adapts = slot != no_adapter && run.adapter(p, slot).rank > 0;
        if (adapts) {
          const test_adapter& adapter = run.adapters[p * slots + slot];
          const kernels::lora_weights weights = adapter.reference();
          const kernels::lora_weights* const one = &weights;
          const uint32_t ends[] = {0, 1};
          kernels::lora_reference(
              {{ends, &one, 1, E, 0}, x.data(), c.in, c.in, v.data(), v.size(), y.data(), out, out});
          for (size_t n = 0; n < out; ++n)
            for (uint32_t j = 0; j < adapter.rank; ++j)
              terms[n] += std::abs(adapter.scale * v[j] * adapter.b.at(j * out + n));
        }
        for (size_t n = 0; n < stride; ++n) {
          const size_t at = row * stride + n;
          if ((c.adds && !adapts) || n >= out) {
            changed.check(run.y[p][at] == before[p][at], at, element_at(before[p].data(), E, at),
                          run.y[p].at(at));
            continue;
          }
          const double error = std::abs(double{run.y[p].at(at)} - y[n]);
          wrong.check(error <= std::abs(y[n]) * roundoff * 1.001 + terms[n] * 0x1p-15, at, y[n],
                      run.y[p].at(at));
        }
      }
    }
    CHECK(wrong == 0);
    CHECK(changed == 0);
    CHECK(run.y[p].intact());
  }
}

template <element E, class Kernel = lora_kernel<E>>
void check_case(const lora_case& c, uint32_t seed, uint32_t tried_orders = 1) {
  CAPTURE(name_of(E));
  CAPTURE(c.rows());
  CAPTURE(c.in);
  CAPTURE(c.outs[0]);
  CAPTURE(c.ranks[0]);
  CAPTURE(seed);
  for (uint32_t order = 0; order < tried_orders; ++order) {
    lora_run<E> run(c, seed);
    std::vector<std::vector<uint16_t>> before;
    for (const number_array& y : run.y) before.push_back(y.values());
    run.template run<Kernel>(order);
    check_result(run, before);
  }
}

/// Every row has its own adapter; ranks of all sizes.
lora_case distinct(uint32_t rows, uint32_t in, std::vector<uint32_t> outs, std::vector<uint32_t> ranks) {
  lora_case c;
  c.in = in, c.outs = std::move(outs), c.ranks = std::move(ranks);
  c.segment_end = {0}, c.slots.clear();
  for (uint32_t row = 0; row < rows; ++row) {
    c.segment_end.push_back(row + 1);
    c.slots.push_back(row % static_cast<uint32_t>(c.ranks.size()));
  }
  return c;
}

}  // namespace

TEST_CASE("lora kernel: one row") {
  check_case<element::bf16>(distinct(1, 64, {64}, {16}), 1, orders);
  check_case<element::f16>(distinct(1, 8, {8}, {1}), 2, orders);
  check_case<element::f16>(distinct(1, 1000, {520}, {16}), 3);
  check_case<element::bf16>(distinct(1, 2048, {1024}, {16}), 4);
}

TEST_CASE("lora kernel: a row for each adapter, of any ranks") {
  check_case<element::bf16>(distinct(5, 264, {200}, {16, 3, 64, 40, 17}), 5, orders);
  check_case<element::f16>(distinct(3, 72, {136}, {256, 130, 80}), 6);
}

TEST_CASE("lora kernel: more groups of B than a lane has in flight") {
  check_case<element::bf16>(distinct(2, 64, {4160}, {64, 16}), 7);
  check_case<element::f16>(distinct(1, 40, {1600}, {200}), 8);
}

TEST_CASE("lora kernel: segments of any length, empty ones, rows without adapters") {
  lora_case c;
  c.in = 136, c.outs = {72}, c.ranks = {16, 32, 8};
  c.segment_end = {0, 9, 9, 12, 13, 46, 50}, c.slots = {1, 2, no_adapter, 0, 2, 1};
  check_case<element::bf16>(c, 9, orders);
  c.tile_rows = wide_tile;
  check_case<element::f16>(c, 10, orders);
}

TEST_CASE("lora kernel: projections that share x, one of them unchanged by an adapter") {
  lora_case c = distinct(4, 128, {192, 64, 72}, {16, 32, 8, 64});
  c.without = 2;
  check_case<element::f16>(c, 11, orders);
}

TEST_CASE("lora kernel: the addend of a product, 0 without an adapter") {
  lora_case c;
  c.adds = false;
  c.in = 136, c.outs = {72, 1096}, c.ranks = {16, 48, 8}, c.without = 1;
  c.segment_end = {0, 9, 9, 12, 13, 46, 50}, c.slots = {1, 2, no_adapter, 0, 2, no_adapter};
  check_case<element::bf16>(c, 16, orders);
  check_case<element::f16, lora_kernel<element::f16, 1>>(c, 17);
  c.tile_rows = wide_tile;
  check_case<element::f16>(c, 18, orders);
}

TEST_CASE("lora kernel: without clusters") {
  check_case<element::bf16, lora_kernel<element::bf16, 1>>(distinct(3, 264, {328}, {16, 96, 5}), 12, orders);
}

TEST_CASE("lora kernel: shrink followed by expand gives the bits of the fused kernel") {
  lora_case c;
  c.in = 200, c.outs = {136, 64}, c.ranks = {24, 16};
  c.segment_end = {0, 11, 12}, c.slots = {0, 1};
  constexpr element E = element::bf16;
  lora_run<E> whole(c, 13), stages(c, 13);
  whole.run<lora_kernel<E>>(0);
  const auto shrink = stages.kernel<lora_kernel<E, 8, lora_stage::shrink>>();
  run_kernel(shrink, shrink.grid(stages.tile_count, 2), 1);
  lora_kernel<E, 8, lora_stage::expand> expand;
  expand.tiles = shrink.tiles, expand.adapters = shrink.adapters;
  expand.adapter_stride = shrink.adapter_stride, expand.v_stride = shrink.v_stride;
  expand.max_ranks = shrink.max_ranks;
  for (size_t p = 0; p < 2; ++p) {
    const auto& from = shrink.projections[p];
    expand.projections[p] = {from.out, from.y, from.y_stride, from.v};
  }
  run_kernel(expand, expand.grid(stages.tile_count, 2), 2);
  for (size_t p = 0; p < 2; ++p) {
    CHECK(differences(stages.y[p], whole.y[p]) == 0);
    CHECK(stages.v[p].intact());
  }
}

TEST_CASE("lora kernel: a row's bits do not depend on the batch or on its tile") {
  constexpr element E = element::f16;
  lora_case c;
  c.in = 328, c.outs = {72}, c.ranks = {16, 48};
  c.segment_end = {0, 20, 41}, c.slots = {0, 1};
  lora_run<E> narrow(c, 14);
  c.tile_rows = wide_tile;
  lora_run<E> wide(c, 14);
  c.segment_end = {0}, c.slots.clear();
  for (uint32_t row = 0; row < 41; row += row == 0 ? 6 : 7)  // 6, 13, 20, 27, 34, 41
    c.segment_end.push_back(row + (row == 0 ? 6 : 7)), c.slots.push_back(row < 20 ? 0 : 1);
  c.tile_rows = narrow_tile;
  REQUIRE(c.segment_end.back() == 41);
  lora_run<E> pieces(c, 14);
  narrow.run<lora_kernel<E>>(0), wide.run<lora_kernel<E>>(1), pieces.run<lora_kernel<E>>(2);
  CHECK(differences(narrow.y[0], wide.y[0]) == 0);
  CHECK(differences(narrow.y[0], pieces.y[0]) == 0);
}

TEST_CASE("lora kernel: a NaN in a row stays in that row") {
  constexpr element E = element::bf16;
  lora_case c;
  c.in = 64, c.segment_end = {0, 3};
  lora_run<E> clean(c, 15), dirty(c, 15);
  dirty.x.set(1 * (c.in + 8) + 5, std::nanf(""));
  clean.run<lora_kernel<E>>(0), dirty.run<lora_kernel<E>>(0);
  int same = 0, lost = 0;
  for (size_t n = 0; n < 64; ++n) {
    same += clean.y[0][n] == dirty.y[0][n];
    same += clean.y[0][2 * 72 + n] == dirty.y[0][2 * 72 + n];
    lost += std::isnan(dirty.y[0].at(72 + n));
  }
  CHECK(same == 128);
  CHECK(lost == 64);
}
