#include "gpu/kernels/cuda/embedding_kernel.hpp"

#include <doctest/doctest.h>

#include "tests/gpu/common/wrong_elements.hpp"
#include "tests/gpu/kernels/cuda/machine.hpp"

using namespace troupe;
using namespace troupe::cuda;

TEST_CASE("embedding kernel: each token gives its table row as floats") {
  constexpr uint32_t seed = 1;
  std::mt19937 random(seed);
  CAPTURE(seed);
  for (const uint32_t width : {8, 136, 4096}) {
    CAPTURE(width);
    for (const element type : short_elements) {
      CAPTURE(name_of(type));
      number_array table = random_numbers(type, 5 * width, random);
      shared_array<int32_t> tokens(std::vector<int32_t>{4, 0, 4, 2});
      shared_array<uint32_t> count(1);
      shared_array<float> x(4 * width);
      count[0] = 3;
      const auto run = [&](auto k) {
        k.rows = count.data(), k.tokens = tokens.data(), k.table = table.data(), k.x = x.data(),
        k.width = width;
        run_kernel(k, k.grid(4), 1);
      };
      type == element::bf16 ? run(embedding_kernel<element::bf16>{}) : run(embedding_kernel<element::f16>{});
      wrong_elements wrong;
      for (uint32_t i = 0; i < 4 * width; ++i) {
        uint32_t bits = 0;
        std::memcpy(&bits, &x[i], 4);
        const bool row = i < 3 * width;  // the others are not written
        const float expected =
            row ? table.at(static_cast<uint32_t>(tokens[i / width]) * width + i % width) : NAN;
        wrong.check(row ? x[i] == expected : bits == 0xffffffff, i, expected, x[i]);
      }
      CHECK(wrong == 0);
      CHECK(x.intact());
    }
  }
}

TEST_CASE("embedding kernel: tokens of the previous step are substituted, and token 0 if it sampled none") {
  std::mt19937 random(2);
  constexpr uint32_t width = 16;
  number_array table = random_numbers(element::bf16, 5 * width, random);
  shared_array<int32_t> tokens(std::vector<int32_t>{~1, 3, ~0, ~2});
  shared_array<uint32_t> count(std::vector<uint32_t>{4});
  shared_array<sampled_row> before(3);
  before[0].chosen.token = 4, before[1].chosen.token = 2, before[2].chosen.token = kernels::no_token;
  shared_array<float> x(4 * width);
  embedding_kernel<element::bf16> k;
  k.rows = count.data(), k.tokens = tokens.data(), k.before = before.data(), k.table = table.data();
  k.x = x.data(), k.width = width;
  run_kernel(k, k.grid(4), 1);
  const uint32_t expected[] = {2, 3, 4, 0};
  wrong_elements wrong;
  for (uint32_t i = 0; i < 4 * width; ++i) {
    const float number = table.at(expected[i / width] * width + i % width);
    wrong.check(x[i] == number, i, number, x[i]);
  }
  CHECK(wrong == 0);
  CHECK(differences(tokens, std::vector<int32_t>{2, 3, 4, 0}) == 0);  // for later kernels of the step
}
