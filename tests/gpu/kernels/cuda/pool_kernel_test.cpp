#include "gpu/kernels/cuda/pool_kernel.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/gpu/common/wrong_elements.hpp"
#include "tests/gpu/kernels/cuda/machine.hpp"

using namespace troupe;
using namespace troupe::cuda;

namespace {

/// A pool over [batch, channels, 1, height, width] with windows of 3 x 2, dilated by 1 x 2 and padded by 1.
void check_pool(bool average, bool counts_padding, bool channels_last, uint32_t height, uint32_t width) {
  CAPTURE(average);
  CAPTURE(counts_padding);
  CAPTURE(channels_last);
  CAPTURE(height);  // the seed, too
  CAPTURE(width);
  constexpr uint32_t batch = 2, channels = 3;
  pool_kernel k;
  k.batch = batch, k.channels = channels, k.average = average, k.channels_last = channels_last;
  k.in[1] = height, k.in[2] = width;
  k.kernel[1] = 3, k.kernel[2] = 2, k.dilation[2] = 2, k.stride[1] = 2;
  k.before[1] = k.before[2] = 1;
  k.out[1] = (height + 2 - 3) / 2 + 1, k.out[2] = width + 2 - 3 + 1;
  if (counts_padding) k.counted[0] = 1, k.counted[1] = height + 1, k.counted[2] = width + 1;
  std::mt19937 random(height);
  shared_array<float> x(batch * channels * height * width), y(k.count());
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(random() % 1000) / 500 - 1;
  k.x = x.data(), k.y = y.data();
  run_kernel(k, k.grid(), width);

  const auto at = [&](uint32_t b, uint32_t c, uint32_t h, uint32_t w, uint32_t rows, uint32_t columns) {
    return channels_last ? ((b * rows + h) * columns + w) * channels + c
                         : ((b * channels + c) * rows + h) * columns + w;
  };
  wrong_elements wrong;
  for (uint32_t b = 0; b < batch; ++b)
    for (uint32_t c = 0; c < channels; ++c)
      for (uint32_t h = 0; h < k.out[1]; ++h)
        for (uint32_t w = 0; w < k.out[2]; ++w) {
          float best = -INFINITY, sum = 0, n = 0;
          for (int i = 0; i < 3; ++i)
            for (int j = 0; j < 2; ++j) {
              const int p = static_cast<int>(2 * h) - 1 + i, q = static_cast<int>(w) - 1 + 2 * j;
              const bool inside =
                  p >= 0 && p < static_cast<int>(height) && q >= 0 && q < static_cast<int>(width);
              n += inside || counts_padding;
              if (!inside) continue;
              const float v = x[at(b, c, static_cast<uint32_t>(p), static_cast<uint32_t>(q), height, width)];
              best = std::max(best, v), sum += v;
            }
          const float expected = average ? sum / n : best;
          const uint32_t place = at(b, c, h, w, k.out[1], k.out[2]);
          wrong.check(std::abs(y[place] - expected) < 1e-6F, place, expected, y[place]);
        }
  CHECK(wrong == 0);
  CHECK(y.intact());
}

}  // namespace

TEST_CASE("pool kernel: maximum and mean, padded and dilated, channels first and last") {
  for (const bool last : {false, true})
    for (const uint32_t height : {3, 8, 17}) {
      check_pool(false, false, last, height, height + 2);
      check_pool(true, false, last, height, height + 2);
      check_pool(true, true, last, height, height + 2);
    }
}

TEST_CASE("pool kernel: the maximum of a window with a NaN is NaN") {
  shared_array<float> x(3), y(1);
  x[0] = 1, x[1] = NAN, x[2] = 2;
  pool_kernel k;
  k.batch = k.channels = 1, k.in[2] = 3, k.kernel[2] = 3;
  k.x = x.data(), k.y = y.data();
  run_kernel(k, k.grid());
  CHECK(std::isnan(y[0]));
}
