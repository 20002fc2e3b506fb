#include "gpu/kernels/dense.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "tests/gpu/kernels/cpu/kernel_cases.hpp"

using namespace troupe;
using namespace troupe::kernels;

namespace {

struct dense_case {
  dense_case(size_t r, size_t i, size_t o, element type, uint32_t seed)
      : random(seed),
        rows(r),
        in(i),
        out(o),
        x_stride(i + seed % 3),
        y_stride(o + seed % 5),
        x(random_numbers(rows * x_stride, random)),
        bias(random_numbers(o, random)),
        y(rows * y_stride) {
    const guarded raw = random_numbers(out * in, random);
    w = packed_weights(raw.data(), element::f32, type, out, in);
  }
  dense_args args(bool with_bias = true) {
    return {x.floats(), x_stride, &w, with_bias ? bias.floats() : nullptr, y.floats(), y_stride, rows};
  }
  std::mt19937 random;
  size_t rows, in, out, x_stride, y_stride;
  guarded x, bias, y;
  packed_weights w;
};

/// The numbers that a layer multiplies: with AVX-512's BF16 the inputs are rounded.
guarded inputs_of(const dense_case& c, element type) {
  guarded x = c.x;
  if (current_isa() != isa::avx512_bf16 || type != element::bf16) return x;
  guarded rounded(x.size(), element::bf16);
  for (size_t i = 0; i < x.size(); ++i) rounded.set(i, x.at(i)), x.set(i, rounded.at(i));
  return x;
}

/// Bound of the rounding error of a sum of n products of numbers up to 1. With AMX each has 16 bits.
double bound(size_t n, element type) {
  const bool tiles = current_isa() == isa::amx && type == element::bf16;
  return (tiles ? 4e-6 : 0) * static_cast<double>(n) + 1e-7 * (4 + 2 * static_cast<double>(n));
}

}  // namespace

TEST_CASE("packed weights are the matrix rounded to the packed type") {
  std::mt19937 random(1);
  for (const auto& [out, in] : {std::pair<size_t, size_t>{1, 1}, {33, 7}, {64, 5}, {95, 130}, {32, 1}}) {
    for (const element from : all_elements) {
      const guarded raw = random_numbers(out * in, random, from);
      for (const element type : all_elements) {
        const packed_weights w(raw.data(), from, type, out, in);
        int wrong = 0;
        for (size_t n = 0; n < out; ++n) {
          for (size_t k = 0; k < in; ++k) {
            guarded rounded(1, type);
            rounded.set(0, raw.at(n * in + k));
            wrong += w.at(n, k) != rounded.at(0);
          }
        }
        CHECK(wrong == 0);
        const size_t padded = type == element::bf16 ? (in + 31) / 32 * 32 : in;
        CHECK(w.bytes() == (out + 31) / 32 * 32 * padded * element_bytes(type));
      }
    }
  }
}

TEST_CASE("dense equals the reference for every shape, element type and instruction set") {
  with_each_isa([] {
    uint32_t seed = 1;
    for (const size_t rows : {1, 2, 3, 7, 12, 13, 25, 40, 129}) {
      for (const auto& [in, out] :
           {std::pair<size_t, size_t>{1, 1}, {3, 31}, {64, 32}, {65, 33}, {130, 161}, {257, 96}}) {
        for (const element type : all_elements) {
          dense_case c(rows, in, out, type, seed++);
          std::vector<float> expected(c.y.size());
          const guarded inputs = inputs_of(c, type);
          dense_args reference = c.args(seed % 2 == 0);
          reference.x = inputs.floats();
          reference.y = expected.data();
          dense_reference(reference);
          dense(c.args(seed % 2 == 0));
          double max = 0;
          for (size_t r = 0; r < rows; ++r)
            max =
                std::max(max, distance(c.y.floats() + r * c.y_stride, expected.data() + r * c.y_stride, out));
          CHECK_MESSAGE(max <= bound(in, type), "rows ", rows, " in ", in, " out ", out);
          CHECK(c.y.intact());
        }
      }
    }
  });
}

TEST_CASE("dense writes nothing between rows, and accepts zero rows") {
  dense_case c(5, 40, 45, element::bf16, 3);
  c.y_stride = 50;
  c.y = guarded(5 * 50);
  dense(c.args());
  int written = 0;
  for (size_t r = 0; r < 5; ++r)
    for (size_t i = 45; i < 50; ++i) written += !std::isnan(c.y.at(r * 50 + i));
  CHECK(written == 0);
  c.rows = 0;
  dense(c.args());
}

TEST_CASE("a row through dense has the same bits alone, among 1 to 40 rows and with any number of threads") {
  with_each_isa([] {
    for (const auto& [type, scale] :
         {std::pair{element::f32, 1.0F},
          {element::f16, 1.0F},
          {element::bf16, 1.0F},
          {element::bf16, 1e-37F}}) {  // with products that AMX flushes, and AVX-512's BF16
      dense_case c(40, 300, 200, type, 9);
      for (size_t i = 0; i < c.x.size(); ++i) c.x.floats()[i] *= scale;
      std::vector<float> alone(40 * 200);
      for (size_t r = 0; r < 40; ++r)
        dense({c.x.floats() + r * c.x_stride, c.x_stride, &c.w, c.bias.floats(), &alone[r * 200], 200, 1});
      int different = 0;
      for (const int threads : thread_counts) {
        const with_threads scope(threads);
        for (size_t rows = 1; rows <= 40; ++rows) {
          const size_t first = (rows * 7) % (41 - rows);
          std::vector<float> y(rows * 200);
          dense({c.x.floats() + first * c.x_stride, c.x_stride, &c.w, c.bias.floats(), y.data(), 200, rows});
          different += !same_bits(y.data(), &alone[first * 200], rows * 200);
        }
      }
      CHECK(different == 0);
    }
  });
}

TEST_CASE("NaN in other rows of dense does not change a row's bits") {
  with_each_isa([] {
    dense_case c(14, 128, 70, element::bf16, 4);
    std::vector<float> before(14 * 70), after(14 * 70);
    dense({c.x.floats(), c.x_stride, &c.w, nullptr, before.data(), 70, 14});
    for (size_t k = 0; k < 128; ++k) c.x.floats()[5 * c.x_stride + k] = not_a_number;
    dense({c.x.floats(), c.x_stride, &c.w, nullptr, after.data(), 70, 14});
    CHECK(same_bits(before.data(), after.data(), 5 * 70));
    CHECK(same_bits(&before[6 * 70], &after[6 * 70], 8 * 70));
    CHECK(std::isnan(after[5 * 70]));
  });
}

TEST_CASE("the largest numbers and infinity pass through dense") {
  with_each_isa([] {
    const std::vector<float> half(40, 0.5F);
    const packed_weights w(half.data(), element::f32, element::bf16, 1, 40);
    std::vector<float> x(40, 0);
    float y = 0;
    x[3] = 3.4e38F;
    dense({x.data(), 40, &w, nullptr, &y, 1, 1});
    CHECK(y > 1.6e38F);
    x[3] = std::numeric_limits<float>::infinity();
    dense({x.data(), 40, &w, nullptr, &y, 1, 1});
    CHECK(y == std::numeric_limits<float>::infinity());
  });
}

TEST_CASE("dense equals the reference at the size of a model") {
  dense_case c(33, 2048, 2048, element::bf16, 21);
  std::vector<float> expected(2048), alone(2048);
  const guarded inputs = inputs_of(c, element::bf16);
  dense_args one = c.args();
  one.rows = 1, one.y = expected.data(), one.y_stride = 2048;
  one.x = inputs.floats() + 20 * c.x_stride;
  dense_reference(one);
  one.x = c.x.floats() + 20 * c.x_stride, one.y = alone.data();
  dense(one);
  CHECK(distance(alone.data(), expected.data(), 2048) <= bound(2048, element::bf16));
  for (const int threads : thread_counts) {
    const with_threads scope(threads);
    dense(c.args());
    CHECK(same_bits(c.y.floats() + 20 * c.y_stride, alone.data(), 2048));
  }
}
