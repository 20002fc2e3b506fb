#include "gpu/llm/layer_content.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <numeric>
#include <vector>

#include "gpu/common/fast_hash.hpp"

using namespace troupe;
using namespace troupe::llm;

namespace {

constexpr size_t matrix_rows = 33, matrix_inputs = 100, table_bytes = 20'000;

struct content_case {
  content_case() : weights(matrix_rows * matrix_inputs), table(table_bytes) {
    std::iota(weights.begin(), weights.end(), 1.0F);
    for (size_t i = 0; i < table.size(); ++i) table[i] = static_cast<std::byte>(i * 7);
    content.add(0, std::vector<float>{1, 2, 3});
    kernels::weight_blocks blocks({{weights.data(), element::f32, matrix_rows}}, element::bf16,
                                  matrix_inputs);
    const auto table_at = 64 + (blocks.bytes() + 63) / 64 * 64 + 64;  // behind a gap
    content.add(64, std::move(blocks));
    content.add(table_at, table);
    bytes = table_at + table_bytes;
  }
  std::vector<std::byte> write(uint64_t part_bytes) const {
    std::vector<std::byte> out(bytes, std::byte{0xff});
    for (uint64_t at = 0; at < bytes; at += part_bytes) {
      const auto memory = std::span(out).subspan(at, std::min(part_bytes, bytes - at));
      image_part part(memory, at);
      content.write(part);
      CHECK(part.finish() == fast_hash(memory));
    }
    return out;
  }
  std::vector<float> weights;
  std::vector<std::byte> table;
  layer_content content;
  uint64_t bytes = 0;
};

}  // namespace

TEST_CASE("layer content: parts of any size make the whole image, with their hashes") {
  const content_case c;
  const auto whole = c.write(c.bytes);
  const float first[] = {1, 2, 3};
  CHECK(std::memcmp(whole.data(), first, sizeof first) == 0);
  for (size_t i = sizeof first; i < 64; ++i) CHECK(whole[i] == std::byte{0});
  const kernels::packed_weights w(whole.data() + 64, element::bf16, matrix_rows, matrix_inputs);
  CHECK(w.at(0, 0) == 1);
  CHECK(w.at(1, 27) == 128);  // a number that BF16 has
  CHECK(std::equal(c.table.begin(), c.table.end(), whole.end() - table_bytes));
  for (const uint64_t part_bytes : {1, 50, 64, 1000, 4096, 8192, 10'000}) CHECK(c.write(part_bytes) == whole);
}
