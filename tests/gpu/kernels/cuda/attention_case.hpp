// Sequences with cached tokens for the tests of attention: the input of the kernels and the reference.
#pragma once
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "gpu/kernels/cuda/attention_plan.hpp"
#include "gpu/kernels/cuda/kv_pages.hpp"
#include "gpu/kernels/paged_attention.hpp"
#include "tests/gpu/common/wrong_elements.hpp"
#include "tests/gpu/kernels/cuda/machine.hpp"

namespace troupe::cuda {

struct attention_shape {
  uint32_t heads = 4, kv_heads = 2, head_dim = 64, page_tokens = 16, window = 0;
  std::vector<uint32_t> rows{1};    ///< of each sequence
  std::vector<uint32_t> tokens{1};  ///< context length, including its rows, which come last
};

/// All memory outside of the sequences is NaN: unused pages, slots behind a sequence's end.
struct attention_case {
  attention_case(element t, const attention_shape& s, uint32_t random_seed = 1, uint32_t first_page = 0)
      : type(t),
        of(s),
        seed(random_seed),
        random(random_seed),
        table(pages_of(s, first_page)),
        starts(start_of(s)),
        kv(t, size_t{page_count(s)} * layers * 2 * s.kv_heads * s.page_tokens * s.head_dim),
        rows(std::accumulate(s.rows.begin(), s.rows.end(), 0U)),
        q(random_numbers(t, size_t{rows} * stride(), random)),
        out(t, size_t{rows} * s.heads * s.head_dim) {
    for (uint32_t i = 0; i < s.rows.size(); ++i) {
      for (uint32_t r = 0; r < s.rows[i]; ++r)
        row_sequence.push_back(i), positions.push_back(s.tokens[i] - s.rows[i] + r);
      std::mt19937 own(seed + 100 * (i + 1));  // a sequence's tokens depend only on its index
      for (uint32_t position = 0; position < s.tokens[i]; ++position)
        for (uint32_t part = 0; part < 2; ++part)
          for (uint32_t head = 0; head < s.kv_heads; ++head)
            for (uint32_t d = 0; d < s.head_dim; ++d)
              kv.set(at(i, position, part, head) + d, static_cast<float>(own() % 20001) / 5000 - 2);
    }
    plan.make(row_sequence, positions);
  }

  static constexpr uint32_t layers = 2, layer = 1;
  size_t stride() const { return (of.heads + 3) * of.head_dim; }
  size_t at(uint32_t sequence, uint32_t position, uint32_t part, uint32_t head) const {
    const uint32_t page = table[starts[sequence] + position / of.page_tokens];
    return ((((size_t{page} * layers + layer) * 2 + part) * of.kv_heads + head) * of.page_tokens +
            position % of.page_tokens) *
           of.head_dim;
  }
  /// Sets the parameters common to all kernels of attention.
  template <class Kernel>
  void set_up(Kernel& k) {
    k.q = q.data(), k.q_stride = stride(), k.out = out.data(), k.heads = of.heads;
    k.kv = {kv.data(), layers, of.kv_heads, of.page_tokens, of.head_dim};
    k.table = {starts.data(), table.data()}, k.layer = layer, k.window = of.window;
    k.scale = 1.4426950408889634F / std::sqrt(static_cast<float>(of.head_dim));
  }
  /// Checks the sequences with `wanted` rows (2: or more) against the reference.
  void check(uint32_t wanted) {
    CAPTURE(name_of(type));
    CAPTURE(of.heads);
    CAPTURE(of.kv_heads);
    CAPTURE(of.head_dim);
    CAPTURE(of.page_tokens);
    CAPTURE(of.window);
    CAPTURE(seed);
    std::vector<float> queries(q.size()), expected(out.size());
    for (size_t i = 0; i < queries.size(); ++i) queries[i] = q.at(i);
    kernels::paged_attention_reference(
        {queries.data(),
         stride(),
         expected.data(),
         size_t{of.heads} * of.head_dim,
         rows,
         of.heads,
         row_sequence.data(),
         positions.data(),
         {starts.data(), table.data()},
         {reinterpret_cast<std::byte*>(kv.data()), type, layers, of.kv_heads, of.page_tokens, of.head_dim},
         layer,
         of.window,
         1 / std::sqrt(static_cast<float>(of.head_dim))});
    // the powers are rounded to E before they are multiplied with values up to 2 (their sum is not: that is
    // up to a roundoff of the values), and the result once more
    const double roundoff = type == element::bf16 ? 0x1p-8 : 0x1p-11;
    wrong_elements wrong;
    int written = 0;
    for (size_t i = 0; i < out.size(); ++i) {
      const uint32_t sequence = row_sequence[i / (of.heads * of.head_dim)];
      if (std::min(of.rows[sequence], 2U) != wanted) {
        written += out[i] != 0xffff;
      } else {
        wrong.check(std::abs(double{out.at(i)} - expected[i]) <= 3 * roundoff, i, expected[i], out.at(i));
      }
    }
    CHECK(wrong == 0);
    CHECK(written == 0);
    CHECK(out.intact());
  }

  element type;
  attention_shape of;
  uint32_t seed;
  std::mt19937 random;
  shared_array<uint32_t> table, starts;
  number_array kv;
  uint32_t rows;
  number_array q, out;
  std::vector<uint32_t> row_sequence, positions;
  attention_plan plan;

 private:
  static uint32_t page_count(const attention_shape& s) { return start_of(s).back() * 2 + 3; }
  static std::vector<uint32_t> start_of(const attention_shape& s) {
    std::vector<uint32_t> start{0};
    for (const uint32_t n : s.tokens) start.push_back(start.back() + (n + s.page_tokens - 1) / s.page_tokens);
    return start;
  }
  /// Every other page, scattered.
  static std::vector<uint32_t> pages_of(const attention_shape& s, uint32_t first) {
    std::vector<uint32_t> pages;
    for (uint32_t i = 0; i < start_of(s).back(); ++i) pages.push_back(2 * i + first % 2);
    std::mt19937 random(first);
    std::shuffle(pages.begin(), pages.end(), random);
    return pages;
  }
};

}  // namespace troupe::cuda
