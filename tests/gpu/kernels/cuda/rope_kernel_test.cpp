#include "gpu/kernels/cuda/rope_kernel.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "gpu/kernels/kv_append.hpp"
#include "gpu/kernels/rope.hpp"
#include "tests/gpu/common/wrong_elements.hpp"
#include "tests/gpu/kernels/cuda/machine.hpp"

using namespace troupe;
using namespace troupe::cuda;

namespace {

struct rope_case {
  uint32_t heads = 4, kv_heads = 2, head_dim = 64, page_tokens = 16, layers = 2, layer = 1;
  std::vector<uint32_t> sequence{0, 0, 1, 2}, position{15, 16, 0, 100000};
};

std::vector<float> frequencies_of(uint32_t half) {
  std::vector<float> f;
  for (uint32_t i = 0; i < half; ++i)
    f.push_back(std::pow(10000.0F, -static_cast<float>(i) / static_cast<float>(half)));
  return f;
}

template <element E>
void check_rope(const rope_case& c) {
  CAPTURE(name_of(E));
  CAPTURE(c.heads);
  CAPTURE(c.kv_heads);
  CAPTURE(c.head_dim);  // the seed, too
  CAPTURE(c.page_tokens);
  std::mt19937 random(c.head_dim);
  const auto rows = static_cast<uint32_t>(c.sequence.size());
  const uint32_t half = c.head_dim / 2, width = (c.heads + 2 * c.kv_heads) * c.head_dim;
  // a page for each position, in a different order
  std::vector<uint32_t> start{0}, blocks;
  for (uint32_t s = 0; s < 3; ++s) {
    uint32_t last = 0;
    for (uint32_t r = 0; r < rows; ++r)
      if (c.sequence[r] == s) last = std::max(last, c.position[r] / c.page_tokens);
    for (uint32_t p = 0; p <= last; ++p) blocks.push_back((s * 5 + p * 3) % 7);
    start.push_back(static_cast<uint32_t>(blocks.size()));
  }
  shared_array<uint32_t> sequence(c.sequence), position(c.position), starts(start), pages(blocks), count(1);
  shared_array<float> frequencies(frequencies_of(half)), cosine(rows * half), sine(rows * half);
  count[0] = rows;
  rope_angles_kernel angles;
  angles.rows = count.data(), angles.positions = position.data(), angles.frequencies = frequencies.data();
  angles.half = half, angles.cosine = cosine.data(), angles.sine = sine.data();
  run_kernel(angles, angles.grid(rows + 1), 0);
  std::vector<float> expected_cosine(rows * half), expected_sine(rows * half);
  kernels::rope_angles_reference({.positions = c.position.data(),
                                  .rows = rows,
                                  .rotated = c.head_dim,
                                  .frequencies = frequencies.data(),
                                  .cosine = expected_cosine.data(),
                                  .sine = expected_sine.data()});
  wrong_elements wrong_cosine, wrong_sine, wrong_qkv, wrong_kv;
  for (size_t i = 0; i < cosine.size(); ++i) {  // a unit in the last place of the largest ones
    const auto near = [](float a, float b) { return std::abs(a - b) <= 0x1p-23F; };
    wrong_cosine.check(near(cosine[i], expected_cosine[i]), i, expected_cosine[i], cosine[i]);
    wrong_sine.check(near(sine[i], expected_sine[i]), i, expected_sine[i], sine[i]);
  }
  CHECK(wrong_cosine == 0);
  CHECK(wrong_sine == 0);

  number_array qkv = random_numbers(E, (rows + 1) * width, random);
  const std::vector<uint16_t> before = qkv.values();
  std::vector<float> floats(rows * width);
  for (size_t i = 0; i < floats.size(); ++i) floats[i] = qkv.at(i);
  const size_t cache = size_t{7} * c.layers * 2 * c.kv_heads * c.page_tokens * c.head_dim;
  number_array kv(E, cache);
  std::vector<uint16_t> expected_kv = kv.values();
  rope_append_kernel<E> k;
  k.rows = count.data(), k.row_sequence = sequence.data(), k.positions = position.data();
  k.cosine = cosine.data(), k.sine = sine.data(), k.qkv = qkv.data(), k.heads = c.heads;
  k.kv = {kv.data(), c.layers, c.kv_heads, c.page_tokens, c.head_dim};
  k.table = {starts.data(), pages.data()}, k.layer = c.layer;
  run_kernel(k, k.grid(rows + 1), 1);

  float *const q = floats.data(), *const keys = q + c.heads * c.head_dim,
               *const values = keys + c.kv_heads * c.head_dim;
  kernels::rope_reference(
      {q, width, keys, width, rows, c.heads, c.kv_heads, c.head_dim, cosine.data(), sine.data(), c.head_dim});
  kernels::kv_append_reference(
      {keys,
       values,
       width,
       width,
       rows,
       c.sequence.data(),
       c.position.data(),
       {start.data(), blocks.data()},
       {reinterpret_cast<std::byte*>(expected_kv.data()), E, c.layers, c.kv_heads, c.page_tokens, c.head_dim},
       c.layer});
  // two products and a sum, which a GPU may fuse: the last bit of E may differ near a tie
  const double roundoff = E == element::bf16 ? 0x1p-8 : 0x1p-11;
  for (uint32_t r = 0; r < rows; ++r)
    for (uint32_t i = 0; i < c.heads * c.head_dim; ++i) {
      const size_t at = size_t{r} * width + i;
      wrong_qkv.check(
          std::abs(double{qkv.at(at)} - floats[at]) <= std::abs(floats[at]) * roundoff * 1.01 + 1e-6, at,
          floats[at], qkv.at(at));
    }
  int written = 0;
  for (size_t i = 0; i < cache; ++i) {
    const float mine = kv.at(i), theirs = element_at(expected_kv.data(), E, i);
    written += expected_kv[i] != 0xffff;
    wrong_kv.check(expected_kv[i] == 0xffff ? kv[i] == 0xffff
                                            : std::abs(mine - theirs) <=
                                                  std::abs(theirs) * 2 * static_cast<float>(roundoff) + 1e-6F,
                   i, theirs, mine);
  }
  CHECK(wrong_kv == 0);
  CHECK(written == static_cast<int>(rows * 2 * c.kv_heads * c.head_dim));
  for (size_t i = size_t{rows} * width; i < qkv.size(); ++i)  // of the row beyond the last
    wrong_qkv.check(qkv[i] == before[i], i, before[i], qkv[i]);
  CHECK(wrong_qkv == 0);
  CHECK(qkv.intact());
  CHECK(kv.intact());
}

}  // namespace

TEST_CASE("rope kernel: head sizes, pages, distant positions") {
  rope_case c;
  for (const uint32_t head_dim : {16, 32, 64, 128}) {
    c.head_dim = head_dim;
    check_rope<element::bf16>(c);
    check_rope<element::f16>(c);
  }
}

TEST_CASE("rope kernel: one kv head, one token a page, one row") {
  rope_case c;
  c.kv_heads = 1, c.page_tokens = 1, c.layers = 1, c.layer = 0;
  c.sequence = {0}, c.position = {2};
  check_rope<element::bf16>(c);
}
