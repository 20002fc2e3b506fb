#include "gpu/kernels/cuda/copy_kernel.hpp"

#include <doctest/doctest.h>

#include "tests/gpu/common/wrong_elements.hpp"
#include "tests/gpu/kernels/cuda/machine.hpp"

using namespace troupe;
using namespace troupe::cuda;

namespace {

template <uint32_t Word>
shared_array<uint8_t> numbered(uint32_t words) {
  shared_array<uint8_t> a(size_t{words} * Word);
  for (uint32_t i = 0; i < a.size(); ++i) a[i] = static_cast<uint8_t>(i * 37 + i / 256);
  return a;
}

/// [rows, columns] transposed, or every second column in reverse order.
template <uint32_t Word>
void check_copies(uint32_t rows, uint32_t columns) {
  CAPTURE(Word);
  CAPTURE(rows);
  CAPTURE(columns);
  const auto from = numbered<Word>(rows * columns);
  const auto same = [&](const shared_array<uint8_t>& to, uint32_t t, uint32_t f) {
    return std::memcmp(to.data() + size_t{t} * Word, from.data() + size_t{f} * Word, Word) == 0;
  };
  wrong_elements wrong;
  {
    shared_array<uint8_t> to(from.size());
    copy_kernel<Word> k;
    k.walk.dims = 2, k.walk.extent[0] = columns, k.walk.extent[1] = rows, k.count = rows * columns;
    k.from_steps = {{1, columns}}, k.to_steps = {{rows, 1}};
    k.from = from.data(), k.to = to.data();
    run_kernel(k, k.grid(), rows);
    for (uint32_t r = 0; r < rows; ++r)
      for (uint32_t c = 0; c < columns; ++c)
        wrong.check(same(to, c * rows + r, r * columns + c), c * rows + r,
                    from[size_t{r * columns + c} * Word], to[size_t{c * rows + r} * Word]);
    CHECK(to.intact());
  }
  const uint32_t half = (columns + 1) / 2;
  shared_array<uint8_t> to(size_t{rows} * half * Word);
  copy_kernel<Word> k;
  k.walk.dims = 2, k.walk.extent[0] = rows, k.walk.extent[1] = half, k.count = rows * half;
  k.from_steps = {{columns, -2}}, k.to_steps = {{half, 1}};
  k.from_first = columns - 1;
  k.from = from.data(), k.to = to.data();
  run_kernel(k, k.grid(), rows);
  for (uint32_t r = 0; r < rows; ++r)
    for (uint32_t c = 0; c < half; ++c) {
      const uint32_t f = r * columns + columns - 1 - 2 * c;
      wrong.check(same(to, r * half + c, f), r * half + c, from[size_t{f} * Word],
                  to[size_t{r * half + c} * Word]);
    }
  CHECK(wrong == 0);
  CHECK(to.intact());
}

}  // namespace

TEST_CASE("copy kernel: boxes are transposed, sliced and reversed, in words of every size") {
  for (const uint32_t columns : {1, 7, 64, 130}) {
    check_copies<1>(3, columns);
    check_copies<2>(5, columns);
    check_copies<4>(33, columns);
    check_copies<8>(2, columns);
    check_copies<16>(4, columns);
  }
}

TEST_CASE("copy kernel: one element is broadcast over the maximum number of dimensions") {
  shared_array<float> from(1), to(256);
  from[0] = 7;
  copy_kernel<4> k;
  k.walk.dims = 8, k.count = 256;
  for (uint32_t d = 0; d < 8; ++d) k.walk.extent[d] = 2, k.to_steps.step[d] = int64_t{1} << (7 - d);
  k.from = from.data(), k.to = to.data();
  run_kernel(k, k.grid());
  CHECK(differences(to, std::vector<float>(256, 7)) == 0);
  CHECK(to.intact());
}
