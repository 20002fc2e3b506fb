#include "gpu/cuda/embedding_kernel.hpp"

#include <doctest/doctest.h>

#include "tests/gpu/cuda/machine.hpp"

using namespace troupe;
using namespace troupe::cuda;

TEST_CASE("embedding kernel: the tokens' rows, as floats") {
  std::mt19937 random(1);
  for (const uint32_t width : {8, 136, 4096}) {
    for (const element type : short_elements) {
      number_array table = random_numbers(type, 5 * width, random);
      shared_array<uint32_t> tokens(std::vector<uint32_t>{4, 0, 4, 2}), count(1);
      shared_array<float> x(4 * width);
      count[0] = 3;
      const auto run = [&](auto k) {
        k.rows = count.data(), k.tokens = tokens.data(), k.table = table.data(), k.x = x.data(),
        k.width = width;
        run_kernel(k, k.grid(4), 1);
      };
      type == element::bf16 ? run(embedding_kernel<element::bf16>{}) : run(embedding_kernel<element::f16>{});
      int wrong = 0;
      for (uint32_t i = 0; i < 4 * width; ++i) {
        uint32_t bits = 0;
        std::memcpy(&bits, &x[i], 4);
        wrong += i < 3 * width ? x[i] != table.at(tokens[i / width] * width + i % width) : bits != 0xffffffff;
      }
      CHECK(wrong == 0);
      CHECK(x.intact());
    }
  }
}
