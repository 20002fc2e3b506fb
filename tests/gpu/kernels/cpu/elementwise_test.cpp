// Embedding, RMS norms, rotary positions, gated activations and soft caps.
#include <doctest/doctest.h>

#include "gpu/kernels/embedding.hpp"
#include "gpu/kernels/expert_rows.hpp"
#include "gpu/kernels/gelu_mul.hpp"
#include "gpu/kernels/kv_append.hpp"
#include "gpu/kernels/rms_norm.hpp"
#include "gpu/kernels/rope.hpp"
#include "gpu/kernels/silu_mul.hpp"
#include "gpu/kernels/soft_cap.hpp"
#include "tests/gpu/kernels/cpu/kernel_cases.hpp"

using namespace troupe;
using namespace troupe::kernels;

namespace {

constexpr size_t widths[] = {1, 3, 15, 16, 17, 64, 100, 2048};

std::vector<float> copy(const guarded& g) { return {g.floats(), g.floats() + g.size()}; }

}  // namespace

TEST_CASE("an embedding is the table's row, for any element type") {
  std::mt19937 random(1);
  with_each_isa([&] {
    for (const element type : all_elements) {
      for (const size_t hidden : widths) {
        const guarded table = random_numbers(11 * hidden, random, type);
        const llm::token tokens[] = {10, 0, 3, 3, 7};
        guarded out(5 * hidden);
        std::vector<float> expected(5 * hidden);
        embedding_args args{tokens, 5, table.data(), type, hidden, expected.data(), hidden};
        embedding_reference(args);
        args.out = out.floats();
        embedding(args);
        CHECK(same_bits(out.floats(), expected.data(), expected.size()));
        CHECK(out.intact());
        for (float& x : expected) x *= 11.3137F;
        args.scale = 11.3137F;
        embedding(args);
        CHECK(same_bits(out.floats(), expected.data(), expected.size()));
      }
    }
  });
}

TEST_CASE("every FP16 and BF16 number is read and written by its definition") {
  with_each_isa([] {
    for (const element type : {element::f16, element::bf16}) {
      std::vector<uint16_t> all(65536), back(65536);
      for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
      std::vector<float> wide(65536), expected(65536);
      const llm::token token = 0;
      embedding({&token, 1, all.data(), type, 65536, wide.data(), 65536});
      embedding_reference({&token, 1, all.data(), type, 65536, expected.data(), 65536});
      CHECK(same_bits(wide.data(), expected.data(), wide.size()));
      // and between two of them, halfway, and beyond the largest
      std::mt19937 random(2);
      for (float& x : wide)
        x = std::bit_cast<float>(static_cast<uint32_t>(random()) & (random() % 2 ? 0xffffe000U : ~0U));
      const paged_kv kv{reinterpret_cast<std::byte*>(back.data()), type, 1, 1, 1, 32768};
      const uint32_t zero = 0, block_start[] = {0, 1};
      kv_append({wide.data(), wide.data() + 32768, 0, 0, 1, &zero, &zero, {block_start, &zero}, kv, 0});
      int wrong = 0;
      for (size_t i = 0; i < back.size(); ++i) {
        uint16_t nearest;
        set_element(&nearest, type, 0, wide[i]);
        wrong += nearest != back[i] && !(std::isnan(wide[i]) && std::isnan(element_at(back.data(), type, i)));
      }
      CHECK(wrong == 0);
    }
  });
}

TEST_CASE("rms_norm adds to the residual and normalises it, with the same bits for a row alone") {
  std::mt19937 random(3);
  with_each_isa([&] {
    for (const size_t width : widths) {
      const size_t rows = 9;
      const guarded x = random_numbers(rows * width, random), start = random_numbers(rows * width, random);
      const guarded weight = random_numbers(width, random);
      for (const bool add : {false, true}) {
        guarded residual = start, out(rows * width);
        std::vector<float> expected(rows * width), sums = copy(start);
        rms_norm_args args{sums.data(),
                           width,
                           add ? x.floats() : nullptr,
                           width,
                           nullptr,
                           weight.floats(),
                           1e-5F,
                           expected.data(),
                           width,
                           rows,
                           width};
        rms_norm_reference(args);
        for (const int threads : thread_counts) {
          const with_threads scope(threads);
          residual = start;
          args.residual = residual.floats(), args.out = out.floats();
          rms_norm(args);
          CHECK(same_bits(residual.floats(), sums.data(), sums.size()));
          CHECK(distance(out.floats(), expected.data(), expected.size()) <= 2e-5);
          CHECK((out.intact() && residual.intact()));
        }
        guarded alone = start;
        std::vector<float> one(width);
        rms_norm({alone.floats() + 4 * width, width, add ? x.floats() + 4 * width : nullptr, width, nullptr,
                  weight.floats(), 1e-5F, one.data(), width, 1, width});
        CHECK(same_bits(one.data(), out.floats() + 4 * width, width));

        const uint32_t which[] = {4, 0, 8};
        guarded picked = start, of_picked(3 * width);
        args.residual = picked.floats(), args.out = of_picked.floats(), args.which = which, args.rows = 3;
        rms_norm(args);
        CHECK(of_picked.intact());
        for (size_t i = 0; i < 3; ++i) {
          CHECK(same_bits(of_picked.floats() + i * width, out.floats() + which[i] * width, width));
          CHECK(same_bits(picked.floats() + which[i] * width, sums.data() + which[i] * width, width));
        }
        CHECK(same_bits(picked.floats() + 5 * width, start.floats() + 5 * width, 3 * width));
      }
    }
  });
}

TEST_CASE("head_norm normalises each head by itself, and nothing between the rows") {
  std::mt19937 random(6);
  with_each_isa([&] {
    for (const uint32_t dim : {2U, 6U, 32U, 80U, 256U}) {
      const uint32_t heads = 3, stride = heads * dim + 5, rows = 7;
      const guarded start = random_numbers(rows * stride, random), weight = random_numbers(dim, random);
      std::vector<float> expected = copy(start);
      head_norm_args args{expected.data(), stride, rows, heads, dim, weight.floats(), 1e-5F};
      head_norm_reference(args);
      guarded x = start;
      for (const int threads : thread_counts) {
        const with_threads scope(threads);
        x = start;
        args.x = x.floats();
        head_norm(args);
        CHECK(distance(x.floats(), expected.data(), x.size()) <= 2e-5);
        CHECK(x.intact());
      }
      for (uint32_t r = 0; r < rows; ++r)
        CHECK(same_bits(x.floats() + r * stride + heads * dim, start.floats() + r * stride + heads * dim, 5));
      guarded alone = start;
      args.x = alone.floats() + 4 * stride, args.rows = 1;
      head_norm(args);
      CHECK(same_bits(args.x, x.floats() + 4 * stride, heads * dim));
    }
  });
}

TEST_CASE("rope rotates pairs by their angle up to position 100000, with the same bits for a row alone") {
  std::mt19937 random(4);
  with_each_isa([&] {
    for (const auto& [dim, turned] :
         {std::pair{2U, 2U}, std::pair{6U, 6U}, std::pair{64U, 64U}, std::pair{80U, 80U}, std::pair{80U, 30U},
          std::pair{128U, 128U}, std::pair{128U, 96U}, std::pair{256U, 256U}}) {
      const uint32_t heads = 3, kv_heads = 2, half = turned / 2, positions[] = {0, 1, 77, 4095, 100000};
      std::vector<float> frequencies(half);
      for (uint32_t i = 0; i < half; ++i)
        frequencies[i] = std::pow(10000.0F, -2 * static_cast<float>(i) / static_cast<float>(turned));
      guarded cosine(5 * half), sine(5 * half);
      std::vector<float> expected_cosine(5 * half), expected_sine(5 * half);
      rope_angles_args angles{
          positions, 5, turned, frequencies.data(), 1.25F, expected_cosine.data(), expected_sine.data()};
      rope_angles_reference(angles);
      angles.cosine = cosine.floats(), angles.sine = sine.floats();
      rope_angles(angles);
      CHECK(distance(cosine.floats(), expected_cosine.data(), cosine.size()) <= 2e-7);
      CHECK(distance(sine.floats(), expected_sine.data(), sine.size()) <= 2e-7);
      CHECK((cosine.intact() && sine.intact()));

      guarded q = random_numbers(5 * heads * dim, random), k = random_numbers(5 * kv_heads * dim, random);
      std::vector<float> expected_q = copy(q), expected_k = copy(k), alone_q = copy(q), alone_k = copy(k);
      rope_args args{
          expected_q.data(), heads * dim, expected_k.data(),      kv_heads * dim,       5,     heads,
          kv_heads,          dim,         expected_cosine.data(), expected_sine.data(), turned};
      rope_reference(args);
      args.q = q.floats(), args.k = k.floats(), args.cosine = cosine.floats(), args.sine = sine.floats();
      rope(args);
      CHECK(distance(q.floats(), expected_q.data(), q.size()) <= 4e-7);
      CHECK(distance(k.floats(), expected_k.data(), k.size()) <= 4e-7);
      CHECK((q.intact() && k.intact()));
      for (uint32_t h = 0; h < 5 * heads; ++h)  // numbers behind the rotated ones stay
        CHECK(same_bits(q.floats() + h * dim + turned, alone_q.data() + h * dim + turned, dim - turned));
      args.q = alone_q.data() + 3 * heads * dim, args.k = alone_k.data() + 3 * kv_heads * dim;
      args.rows = 1, args.cosine += 3 * half, args.sine += 3 * half;
      rope(args);
      CHECK(same_bits(args.q, q.floats() + 3 * heads * dim, heads * dim));
      CHECK(same_bits(args.k, k.floats() + 3 * kv_heads * dim, kv_heads * dim));
    }
  });
}

TEST_CASE("silu_mul is accurate from -100 to 100, for two halves of one matrix and in place") {
  std::mt19937 random(5);
  with_each_isa([&] {
    for (const size_t width : widths) {
      guarded both = random_numbers(6 * 2 * width, random);
      for (size_t i = 0; i < both.size(); ++i) both.floats()[i] *= i % 3 ? 4.0F : 100.0F;
      guarded out(6 * width);
      std::vector<float> expected(6 * width);
      silu_mul_args args{
          both.floats(), both.floats() + width, 2 * width, 2 * width, expected.data(), width, 6, width};
      silu_mul_reference(args);
      args.out = out.floats();
      silu_mul(args);
      int far = 0;
      for (size_t i = 0; i < expected.size(); ++i)
        far += !(std::abs(out.at(i) - expected[i]) <= 1e-6F * std::abs(expected[i]) + 1e-30F);
      CHECK(far == 0);
      CHECK(out.intact());
      std::vector<float> one(width);
      args.gate += 4 * width, args.up += 4 * width, args.out = one.data(), args.rows = 1;
      silu_mul(args);
      CHECK(same_bits(one.data(), out.floats() + 2 * width, width));
      args.out = both.floats() + 4 * width, args.out_stride = 2 * width;
      silu_mul(args);
      CHECK(same_bits(both.floats() + 4 * width, one.data(), width));
    }
  });
}

TEST_CASE("gelu_mul is accurate from -100 to 100, with the same bits for a row alone and in place") {
  std::mt19937 random(7);
  with_each_isa([&] {
    for (const size_t width : widths) {
      guarded both = random_numbers(6 * 2 * width, random);
      for (size_t i = 0; i < both.size(); ++i) both.floats()[i] *= i % 3 ? 3.0F : 100.0F;
      guarded out(6 * width);
      std::vector<float> expected(6 * width);
      gelu_mul_args args{
          both.floats(), both.floats() + width, 2 * width, 2 * width, expected.data(), width, 6, width};
      gelu_mul_reference(args);
      args.out = out.floats();
      gelu_mul(args);
      int far = 0;
      for (size_t i = 0; i < expected.size(); ++i)
        far += !(std::abs(out.at(i) - expected[i]) <= 1e-5F * std::abs(expected[i]) + 1e-30F);
      CHECK(far == 0);
      CHECK(out.intact());
      std::vector<float> one(width);
      args.gate += 4 * width, args.up += 4 * width, args.out = one.data(), args.rows = 1;
      gelu_mul(args);
      CHECK(same_bits(one.data(), out.floats() + 2 * width, width));
      args.out = both.floats() + 4 * width, args.out_stride = 2 * width;
      gelu_mul(args);
      CHECK(same_bits(both.floats() + 4 * width, one.data(), width));
    }
  });
}

TEST_CASE("gelu_mul has the values of GELU by tanh, and propagates infinities and NaN") {
  with_each_isa([] {
    const float infinity = std::numeric_limits<float>::infinity();
    const float gate[] = {1, -1, 0.1F, 0, infinity, not_a_number}, up[] = {1, 1, 2, 5, 2, 1};
    float out[6];
    gelu_mul({gate, up, 6, 6, out, 6, 1, 6});
    // torch.nn.functional.gelu(x, approximate="tanh")
    CHECK(out[0] == doctest::Approx(0.8411920).epsilon(1e-6));
    CHECK(out[1] == doctest::Approx(-0.1588080).epsilon(1e-6));
    CHECK(out[2] == doctest::Approx(2 * 0.0539827).epsilon(1e-5));
    CHECK(out[3] == 0);
    CHECK(out[4] == infinity);
    CHECK(std::isnan(out[5]));
  });
}

TEST_CASE("soft_cap bounds numbers by the cap and keeps small ones, with the same bits alone") {
  std::mt19937 random(8);
  with_each_isa([&] {
    for (const size_t count : {size_t{1}, size_t{17}, size_t{5000}}) {
      const guarded start = random_numbers(count, random);
      for (const float factor : {1e-3F, 3.0F, 40.0F, 1e4F}) {
        guarded x = start;
        for (size_t i = 0; i < count; ++i) x.floats()[i] *= factor;
        const std::vector<float> before = copy(x);
        std::vector<float> expected = before;
        soft_cap_reference({expected.data(), count, 30});
        soft_cap({x.floats(), count, 30});
        int far = 0;
        for (size_t i = 0; i < count; ++i)
          far +=
              !(std::abs(x.at(i) - expected[i]) <= 5e-7F * std::abs(expected[i])) || std::abs(x.at(i)) > 30;
        CHECK(far == 0);
        CHECK(x.intact());
        float last = before.back();
        soft_cap({&last, 1, 30});
        CHECK(same_bits(&last, x.floats() + count - 1, 1));
      }
    }
    float special[] = {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(), 0,
                       not_a_number};
    soft_cap({special, 4, 30});
    CHECK((special[0] == 30 && special[1] == -30 && special[2] == 0 && std::isnan(special[3])));
  });
}

TEST_CASE("rows are gathered for an expert, and added to their places with their weights") {
  std::mt19937 random(9);
  with_each_isa([&] {
    for (const size_t width : widths) {
      const uint32_t which[] = {6, 0, 3};
      const float weight[] = {0.25F, -1.5F, 0.7F};
      const guarded x = random_numbers(7 * width, random), start = random_numbers(7 * width, random);
      guarded gathered(3 * width), sum = start;
      std::vector<float> rows(3 * width), expected = copy(start);
      gather_rows_reference({x.floats(), width, which, 3, rows.data()});
      gather_rows({x.floats(), width, which, 3, gathered.floats()});
      CHECK(same_bits(gathered.floats(), rows.data(), rows.size()));
      for (size_t r = 0; r < 3; ++r)
        CHECK(same_bits(rows.data() + r * width, x.floats() + which[r] * width, width));
      add_rows_reference({rows.data(), width, which, weight, 3, expected.data()});
      add_rows({rows.data(), width, which, weight, 3, sum.floats()});
      CHECK(distance(sum.floats(), expected.data(), expected.size()) <= 3e-7);
      CHECK((sum.intact() && gathered.intact()));
      guarded alone = start;
      add_rows({rows.data() + width, width, which + 1, weight + 1, 1, alone.floats()});
      CHECK(same_bits(alone.floats(), sum.floats(), width));
      CHECK(same_bits(alone.floats() + width, start.floats() + width, 6 * width));
    }
  });
}

TEST_CASE("silu_mul propagates infinities and NaN") {
  with_each_isa([] {
    const float infinity = std::numeric_limits<float>::infinity();
    const float gate[] = {infinity, not_a_number, 0, -0.0F, 1}, up[] = {2, 1, 3, 3, not_a_number};
    float out[5];
    silu_mul({gate, up, 5, 5, out, 5, 1, 5});
    CHECK(out[0] == infinity);
    CHECK((std::isnan(out[1]) && std::isnan(out[4])));
    CHECK((out[2] == 0 && out[3] == 0));
  });
}
