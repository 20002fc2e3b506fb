#include "gpu/kernels/paged_attention.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "gpu/kernels/kv_append.hpp"
#include "tests/gpu/kernels/cpu/kernel_cases.hpp"

using namespace troupe;
using namespace troupe::kernels;

namespace {

struct shape {
  uint32_t heads = 4, kv_heads = 2, head_dim = 64, page_tokens = 16, window = 0;
  float cap = 0;
};

/// Sequences with all their queries, keys and values; their tokens pass through a paged cache filled with
/// NaN.
struct attention_case {
  attention_case(std::vector<uint32_t> sequence_tokens, shape form, element type, uint32_t seed)
      : random(seed), tokens(std::move(sequence_tokens)), s(form) {
    for (const uint32_t n : tokens) {
      start.push_back(start.back() + n);
      block_start.push_back(block_start.back() + (n + s.page_tokens - 1) / s.page_tokens);
    }
    blocks.resize(block_start.back());
    std::iota(blocks.begin(), blocks.end(), 0U);
    std::shuffle(blocks.begin(), blocks.end(), random);
    kv = {nullptr, type, layers, s.kv_heads, s.page_tokens, s.head_dim};
    pages = std::vector<std::byte>(blocks.size() * kv.page_bytes(), std::byte{0xff});
    kv.pages = pages.data();
    const size_t rows = start.back();
    q = random_numbers(rows * width(), random);
    for (size_t i = 0; i < q.size(); ++i) q.floats()[i] *= 4;  // weights that differ
    k = random_numbers(rows * kv_width(), random), v = random_numbers(rows * kv_width(), random);
  }
  attention_case(const attention_case&) = delete;
  attention_case& operator=(const attention_case&) = delete;
  size_t width() const { return s.heads * s.head_dim; }
  size_t kv_width() const { return s.kv_heads * s.head_dim; }

  /// Runs a batch of rows (sequence, position) in this order: append, then attend. Writes the results to
  /// `out`.
  void run(const std::vector<std::pair<uint32_t, uint32_t>>& rows, std::vector<float>& out,
           bool reference = false) {
    guarded bq(rows.size() * width()), bk(rows.size() * kv_width()), bv(rows.size() * kv_width());
    guarded result(rows.size() * width());
    std::vector<uint32_t> sequence, position;
    for (size_t r = 0; r < rows.size(); ++r) {
      const size_t at = start[rows[r].first] + rows[r].second;
      std::copy_n(q.floats() + at * width(), width(), bq.floats() + r * width());
      std::copy_n(k.floats() + at * kv_width(), kv_width(), bk.floats() + r * kv_width());
      std::copy_n(v.floats() + at * kv_width(), kv_width(), bv.floats() + r * kv_width());
      sequence.push_back(rows[r].first), position.push_back(rows[r].second);
    }
    const block_table table{block_start.data(), blocks.data()};
    kv_append_args append{bk.floats(),     bv.floats(),     kv_width(), kv_width(), rows.size(),
                          sequence.data(), position.data(), table,      kv,         layer};
    paged_attention_args attend{bq.floats(),
                                width(),
                                result.floats(),
                                width(),
                                rows.size(),
                                s.heads,
                                sequence.data(),
                                position.data(),
                                table,
                                kv,
                                layer,
                                s.window,
                                1 / std::sqrt(static_cast<float>(s.head_dim)),
                                s.cap};
    if (reference) {
      kv_append_reference(append);
      paged_attention_reference(attend);
    } else {
      kv_append(append);
      paged_attention(attend);
    }
    CHECK(result.intact());
    out.resize(start.back() * width(), not_a_number);
    for (size_t r = 0; r < rows.size(); ++r)
      std::copy_n(result.floats() + r * width(), width(),
                  &out[(start[rows[r].first] + rows[r].second) * width()]);
  }
  /// All tokens, sequence after sequence, in one batch.
  std::vector<std::pair<uint32_t, uint32_t>> whole() const {
    std::vector<std::pair<uint32_t, uint32_t>> rows;
    for (uint32_t i = 0; i < tokens.size(); ++i)
      for (uint32_t p = 0; p < tokens[i]; ++p) rows.emplace_back(i, p);
    return rows;
  }
  void forget() { std::fill(pages.begin(), pages.end(), std::byte{0xff}); }

  static constexpr uint32_t layers = 2, layer = 1;
  std::mt19937 random;
  std::vector<uint32_t> tokens, start = {0}, block_start = {0}, blocks;
  shape s;
  std::vector<std::byte> pages;
  paged_kv kv;
  guarded q{0}, k{0}, v{0};
};

}  // namespace

TEST_CASE("the KV cache has Punica's page layout, and an append changes only the slots of its layer") {
  std::vector<uint16_t> bits(3 * 2 * 2 * 2 * 4 * 6, 0xffff);
  const paged_kv kv{reinterpret_cast<std::byte*>(bits.data()), element::bf16, 2, 2, 4, 6};
  CHECK(kv.page_bytes() == 2 * 2 * 2 * 4 * 6 * 2);
  CHECK(kv.at(2, 1, paged_kv::value, 1, 3) - kv.pages == ((((2 * 2 + 1) * 2 + 1) * 2 + 1) * 4 + 3) * 12);
  const uint32_t block_start[] = {0, 1, 3}, blocks[] = {1, 2, 0}, sequence[] = {1, 0}, position[] = {5, 2};
  const std::vector<float> k(2 * 12, 1), v(2 * 12, 2);
  with_each_isa([&] {
    std::fill(bits.begin(), bits.end(), uint16_t{0xffff});
    kv_append({k.data(), v.data(), 12, 12, 2, sequence, position, {block_start, blocks}, kv, 1});
    int written = 0, wrong = 0;
    for (const uint16_t b : bits) written += b != 0xffff;
    CHECK(written == 2 * 2 * 12);
    for (uint32_t head = 0; head < 2; ++head) {
      for (uint32_t d = 0; d < 6; ++d) {
        wrong += element_at(kv.at(0, 1, paged_kv::key, head, 1), kv.type, d) != 1;
        wrong += element_at(kv.at(0, 1, paged_kv::value, head, 1), kv.type, d) != 2;
        wrong += element_at(kv.at(1, 1, paged_kv::key, head, 2), kv.type, d) != 1;
      }
    }
    CHECK(wrong == 0);
  });
}

TEST_CASE("paged attention equals the reference for every shape, window, page size and element type") {
  with_each_isa([] {
    uint32_t seed = 1;
    for (const element type : all_elements) {
      for (const shape s :
           {shape{4, 4, 64, 16, 0}, shape{8, 2, 64, 16, 0}, shape{3, 1, 2, 3, 5}, shape{6, 2, 80, 32, 33},
            shape{40, 1, 34, 1, 0}, shape{2, 1, 256, 16, 64}, shape{14, 2, 64, 128, 1},
            shape{4, 2, 64, 16, 0, 0.5F}, shape{6, 1, 48, 3, 20, 3}}) {
        attention_case c({1, 45, 100, 33}, s, type, seed++);
        std::vector<float> expected, out;
        c.run(c.whole(), expected, true);
        c.forget();
        c.run(c.whole(), out);
        // queries and weights as two BF16 numbers keep 16 bits
        const double bound = current_isa() == isa::avx512_bf16 && type == element::bf16 ? 2e-5 : 4e-6;
        CHECK_MESSAGE(distance(out.data(), expected.data(), out.size()) <= bound, "heads ", s.heads, " dim ",
                      s.head_dim);
      }
    }
  });
}

TEST_CASE("a prompt whole, in chunks and token by token gives the same bits, beside any neighbours") {
  with_each_isa([] {
    uint32_t seed = 40;
    for (const element type : all_elements) {
      for (const shape s : {shape{8, 2, 64, 16, 0}, shape{4, 4, 40, 16, 21}, shape{3, 1, 128, 7, 40},
                            shape{4, 2, 32, 16, 25, 0.5F}}) {
        attention_case c({70, 1, 97}, s, type, seed++);
        std::vector<float> whole, out;
        c.run(c.whole(), whole);
        int different = 0;
        for (const int threads : thread_counts) {
          const with_threads scope(threads);
          for (const uint32_t chunk : {1U, 5U, 32U, 50U}) {
            c.forget(), out.clear();
            // a chunk of the first, the second at once, then the last backwards in turns with the first
            for (uint32_t p = 0; p < 97; p += chunk) {
              std::vector<std::pair<uint32_t, uint32_t>> rows;
              for (uint32_t i = p; i < std::min(p + chunk, 97U); ++i) rows.emplace_back(2, i);
              if (p == 0) rows.emplace_back(1, 0);
              for (uint32_t i = p; i < std::min(p + chunk, 70U); ++i) rows.emplace_back(0, i);
              if (chunk == 5) std::reverse(rows.begin(), rows.end());
              c.run(rows, out);
            }
            different += !same_bits(out.data(), whole.data(), whole.size());
          }
        }
        CHECK(different == 0);
      }
    }
  });
}

TEST_CASE("scores beyond the range of exp, and equal scores, give correct means") {
  with_each_isa([] {
    attention_case c({64}, {2, 1, 32, 16, 0}, element::f32, 3);
    for (size_t i = 0; i < c.q.size(); ++i) c.q.floats()[i] *= 300;
    std::vector<float> expected, out;
    c.run(c.whole(), expected, true);
    c.run(c.whole(), out);
    CHECK(distance(out.data(), expected.data(), out.size()) <=
          2e-3);  // scores up to 10^4 have a visible rounding error
    for (size_t i = 0; i < c.q.size(); ++i) c.q.floats()[i] = 0;
    c.run(c.whole(), expected, true);
    c.run(c.whole(), out);
    CHECK(distance(out.data(), expected.data(), out.size()) <= 1e-6);
  });
}

TEST_CASE("NaN in the cache of a sequence does not spread to other sequences") {
  with_each_isa([] {
    attention_case c({40, 40}, {4, 1, 64, 16, 0}, element::bf16, 5);
    std::vector<float> before, after;
    c.run(c.whole(), before);
    for (size_t i = 0; i < 3 * c.kv_width(); ++i) c.v.floats()[(40 + 20) * c.kv_width() + i] = not_a_number;
    c.run(c.whole(), after);
    CHECK(same_bits(before.data(), after.data(), 60 * c.width()));  // of its own earlier rows, too
    CHECK(std::isnan(after[60 * c.width()]));
  });
}
