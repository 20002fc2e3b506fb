#include "gpu/kernels/weight_blocks.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <vector>

#include "tests/gpu/kernels/cpu/kernel_cases.hpp"

using namespace troupe;
using namespace troupe::kernels;

namespace {

/// All blocks in their order, in memory that held other bytes.
aligned_bytes packed(const weight_blocks& blocks) {
  aligned_bytes out(blocks.bytes());
  std::memset(out.data(), 0xff, out.size());
  size_t end = 0;
  for (size_t b = 0; b < blocks.count(); ++b) {
    REQUIRE(blocks.offset(b) == end);
    CHECK(blocks.block_at(end) == b);
    const auto bytes = blocks.make(b, out.data() + end);
    CHECK(blocks.block_at(end + bytes - 1) == b);
    CHECK(bytes <= weight_blocks::max_block_bytes);
    end += bytes;
  }
  CHECK(end == blocks.bytes());
  return out;
}

}  // namespace

TEST_CASE("weight blocks hold the rows of all parts, whatever their types, for every instruction set") {
  with_each_isa([] {
    std::mt19937 random(2);
    const size_t rows[] = {5, 40, 1, 50};
    for (const size_t in : {1, 2, 31, 64, 70, 128, 200})
      for (const element type : all_elements) {
        CAPTURE(in);
        std::vector<guarded> numbers;
        std::vector<weight_rows> parts;
        for (size_t i = 0; i < 4; ++i) {
          const auto from = all_elements[i % 3];
          numbers.push_back(random_numbers(rows[i] * in, random, from));
          parts.push_back({nullptr, from, rows[i]});
        }
        for (size_t i = 0; i < 4; ++i) parts[i].weights = numbers[i].data();
        const auto memory = packed(weight_blocks(parts, type, in));
        const packed_weights w(memory.data(), type, 96, in);
        REQUIRE(w.bytes() == memory.size());
        int wrong = 0;
        size_t row = 0;
        for (size_t i = 0; i < 4; ++i)
          for (size_t r = 0; r < rows[i]; ++r, ++row)
            for (size_t k = 0; k < in; ++k) {
              guarded rounded(1, type);
              rounded.set(0, numbers[i].at(r * in + k));
              wrong += w.at(row, k) != rounded.at(0);
            }
        CHECK(wrong == 0);
      }
  });
}

TEST_CASE("weight blocks are zero beyond the rows and the inputs") {
  with_each_isa([] {
    for (const element type : all_elements)
      for (const size_t in : {7, 65}) {
        const std::vector<float> ones(33 * in, 1);
        const auto memory = packed(weight_blocks({{ones.data(), element::f32, 33}}, type, in));
        float sum = 0;
        for (size_t i = 0; i < memory.size() / element_bytes(type); ++i)
          sum += element_at(memory.data(), type, i);
        CHECK(sum == 33.0F * static_cast<float>(in));
      }
  });
}
