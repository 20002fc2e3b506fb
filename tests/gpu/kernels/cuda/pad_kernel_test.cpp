#include "gpu/kernels/cuda/pad_kernel.hpp"

#include <doctest/doctest.h>

#include "tests/gpu/common/wrong_elements.hpp"
#include "tests/gpu/kernels/cuda/machine.hpp"

using namespace troupe;
using namespace troupe::cuda;

namespace {

template <class T>
void check_padding(int64_t before_rows, int64_t before_columns, uint32_t out_rows, uint32_t out_columns) {
  CAPTURE(sizeof(T));
  CAPTURE(before_rows);
  CAPTURE(before_columns);
  constexpr uint32_t rows = 5, columns = 7;
  shared_array<T> from(rows * columns), to(out_rows * out_columns);
  for (uint32_t i = 0; i < from.size(); ++i) from[i] = static_cast<T>(i + 1);
  const T filler = static_cast<T>(200);
  pad_kernel<sizeof(T)> k;
  k.walk.dims = 2, k.walk.extent[0] = out_rows, k.walk.extent[1] = out_columns;
  k.count = out_rows * out_columns;
  k.before[0] = before_rows, k.before[1] = before_columns;
  k.extent[0] = rows, k.extent[1] = columns;
  k.steps = {{columns, 1}};
  std::memcpy(&k.filler, &filler, sizeof filler);
  k.from = from.data(), k.to = to.data();
  run_kernel(k, k.grid(), out_rows);
  wrong_elements wrong;
  for (uint32_t r = 0; r < out_rows; ++r) {
    for (uint32_t c = 0; c < out_columns; ++c) {
      const int64_t i = int64_t{r} - before_rows, j = int64_t{c} - before_columns;
      const bool inside = i >= 0 && i < rows && j >= 0 && j < columns;
      const T expected = inside ? from[static_cast<size_t>(i * columns + j)] : filler;
      const size_t at = r * out_columns + c;
      wrong.check(to[at] == expected, at, static_cast<double>(expected), static_cast<double>(to[at]));
    }
  }
  CHECK(wrong == 0);
  CHECK(to.intact());
}

}  // namespace

TEST_CASE("pad kernel: positive and negative padding, elements of every size") {
  check_padding<float>(2, 3, 20, 11);
  check_padding<uint8_t>(0, 1, 6, 8);
  check_padding<uint16_t>(-2, 40, 3, 90);
  check_padding<double>(-1, -3, 3, 2);
}
