#include "gpu/kernels/sgmv.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/gpu/kernels/cpu/kernel_cases.hpp"

using namespace troupe;
using namespace troupe::kernels;

namespace {

/// Rows in ragged segments of random adapters.
struct lora_case {
  lora_case(const std::vector<uint32_t>& segment_rows, const std::vector<uint32_t>& ranks, size_t i, size_t o,
            element type, uint32_t seed)
      : random(seed), in(i), out(o) {
    for (size_t s = 0; s < segment_rows.size(); ++s) {
      end.push_back(end.back() + segment_rows[s]);
      a.push_back(random_numbers(ranks[s] * in, random, type));
      b.push_back(random_numbers(ranks[s] * out, random, type));
      v_stride = std::max<size_t>(v_stride, ranks[s] + 1);
    }
    for (size_t s = 0; s < segment_rows.size(); ++s)
      weights.push_back({a[s].data(), b[s].data(), ranks[s], 0.25F * static_cast<float>(s + 1)});
    for (const lora_weights& w : weights) adapters.push_back(&w);
    segments = {end.data(), adapters.data(), static_cast<uint32_t>(segment_rows.size()), type};
    x = random_numbers(rows() * in, random), y = random_numbers(rows() * out, random);
    v = guarded(rows() * v_stride);
  }
  lora_case(const lora_case&) = delete;
  lora_case& operator=(const lora_case&) = delete;
  size_t rows() const { return end.back(); }
  lora_args args() { return {segments, x.floats(), in, in, v.floats(), v_stride, y.floats(), out, out}; }
  std::mt19937 random;
  size_t in, out, v_stride = 1;
  std::vector<uint32_t> end = {0};
  std::vector<guarded> a, b;
  std::vector<lora_weights> weights;
  std::vector<const lora_weights*> adapters;
  lora_segments segments;
  guarded x{0}, y{0}, v{0};
};

std::vector<float> expected(lora_case& c) {
  std::vector<float> y(c.y.floats(), c.y.floats() + c.y.size()), v(c.v.size());
  lora_args args = c.args();
  args.y = y.data(), args.v = v.data();
  lora_reference(args);
  return y;
}

}  // namespace

TEST_CASE("lora equals the reference for ragged, empty and one-row segments of any rank") {
  with_each_isa([] {
    uint32_t seed = 1;
    for (const element type : all_elements) {
      for (const auto& [in, out] :
           {std::pair<size_t, size_t>{1, 1}, {17, 33}, {64, 64}, {131, 517}, {100, 1030}}) {
        lora_case c({1, 0, 5, 1, 4, 35, 2}, {16, 8, 3, 0, 1, 7, 256}, in, out, type, seed++);
        const std::vector<float> y = expected(c);
        lora(c.args());
        // for numbers up to 1: products over `in` and over the rank, times the scale
        const double bound = 1e-7 * static_cast<double>(in) * 256 * 2;
        CHECK_MESSAGE(distance(c.y.floats(), y.data(), y.size()) <= bound, "in ", in, " out ", out);
        CHECK(c.y.intact());
        CHECK(c.v.intact());
      }
    }
  });
}

TEST_CASE("shrink followed by expand gives the bits of lora") {
  lora_case c({3, 1, 6}, {4, 16, 9}, 70, 90, element::f16, 5),
      d({3, 1, 6}, {4, 16, 9}, 70, 90, element::f16, 5);
  std::vector<float> v(c.v.size(), not_a_number);
  sgmv_shrink_args shrink = c.args().shrink();
  shrink.v = v.data();
  sgmv_shrink_reference(shrink);
  sgmv_shrink(c.args().shrink());
  CHECK(distance(c.v.floats(), v.data(), v.size()) <= 1e-5);  // rows that are not written stay NaN in both
  sgmv_expand(c.args().expand());
  lora(d.args());
  CHECK(same_bits(c.y.floats(), d.y.floats(), c.y.size()));
}

TEST_CASE("rows without an adapter keep their bits") {
  lora_case c({2, 3, 2, 2}, {8, 8, 8, 0}, 40, 50, element::f32, 6);
  c.weights[0].a = nullptr, c.weights[2].b = nullptr;
  const std::vector<float> before(c.y.floats(), c.y.floats() + c.y.size());
  lora(c.args());
  CHECK(same_bits(c.y.floats(), before.data(), 2 * 50));
  CHECK(!same_bits(c.y.floats() + 2 * 50, &before[2 * 50], 50));
  CHECK(same_bits(c.y.floats() + 5 * 50, &before[5 * 50], 4 * 50));
  c.segments.count = 0;
  lora(c.args());
}

TEST_CASE("each segment has the matrices of the requested projection, and none without an adapter") {
  lora_case c({2, 3, 2}, {8, 8, 4}, 40, 50, element::f32, 7),
      d({2, 3, 2}, {8, 8, 4}, 40, 50, element::f32, 7);
  // three adapters of two projections; c uses the second projection
  std::vector<lora_weights> both;
  for (const lora_weights& w : c.weights) both.push_back({}), both.push_back(w);
  const lora_weights* const adapters[] = {both.data(), nullptr, both.data() + 4};
  c.segments.adapters = adapters, c.segments.projection = 1;
  d.weights[1] = {};
  lora(c.args());
  lora(d.args());
  CHECK(same_bits(c.y.floats(), d.y.floats(), c.y.size()));
  const std::vector<float> before(c.y.floats(), c.y.floats() + c.y.size());
  c.segments.projection = 0;
  lora(c.args());
  CHECK(same_bits(c.y.floats(), before.data(), before.size()));
}

TEST_CASE("a row through lora has the same bits alone, in any segment and with any number of threads") {
  with_each_isa([] {
    for (const element type : all_elements) {
      for (const uint32_t rank : {1U, 6U, 16U, 67U}) {
        lora_case c({40}, {rank}, 200, 700, type, 8);
        std::vector<float> alone(c.y.floats(), c.y.floats() + c.y.size());
        const std::vector<float> before = alone;
        for (uint32_t r = 0; r < 40; ++r) {
          const uint32_t one[] = {0, 1};
          lora_args args = c.args();
          args.segments.segment_end = one;
          args.x += r * c.in, args.y = &alone[r * c.out];
          lora(args);
        }
        int different = 0;
        for (const int threads : thread_counts) {
          const with_threads scope(threads);
          for (uint32_t rows = 1; rows <= 40; ++rows) {
            // the rows before, these in a segment of their own, the rows after: the same adapter three times
            const uint32_t first = (rows * 11) % (41 - rows), ends[] = {0, first, first + rows, 40};
            const lora_weights* const adapters[] = {c.adapters[0], c.adapters[0], c.adapters[0]};
            std::vector<float> y = before;
            lora_args args = c.args();
            args.segments.segment_end = ends, args.segments.adapters = adapters, args.segments.count = 3;
            args.y = y.data();
            lora(args);
            different += !same_bits(y.data(), alone.data(), y.size());
          }
        }
        CHECK(different == 0);
      }
    }
  });
}

TEST_CASE("lora equals the reference at the size of a model, with a different adapter for each row") {
  lora_case c(std::vector<uint32_t>(4, 1), {16, 8, 64, 16}, 2048, 2048, element::bf16, 10);
  const std::vector<float> before(c.y.floats(), c.y.floats() + c.y.size());
  const std::vector<float> y = expected(c);
  lora(c.args());
  CHECK(distance(c.y.floats(), y.data(), y.size()) <= 1e-3);
  const std::vector<float> first(c.y.floats(), c.y.floats() + c.y.size());
  for (const int threads : thread_counts) {
    const with_threads scope(threads);
    std::memcpy(c.y.data(), before.data(), before.size() * sizeof(float));
    lora(c.args());
    CHECK(same_bits(c.y.floats(), first.data(), first.size()));
  }
}
