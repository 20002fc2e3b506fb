#include "transport/image/resample.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace troupe {
namespace {

constexpr int weight_bits = 22;  // a sum of 8-bit values, weighted, fits 32 bits with its sign
constexpr int32_t unit = 1 << weight_bits, half_unit = unit / 2;

uint8_t rounded(int32_t sum) { return static_cast<uint8_t>(std::clamp(sum >> weight_bits, 0, 255)); }

double triangle(double x) { return std::max(0.0, 1 - std::abs(x)); }

/// Keys' cubic convolution with a = -1/2.
double cubic(double x) {
  constexpr double a = -0.5;
  x = std::abs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * a;
  return 0;
}

/// The weights of the input values along one axis, by output value. Both ends of the ranges ascend.
struct axis {
  struct range {
    uint32_t first = 0, count = 0;
  };
  std::vector<range> ranges;
  std::vector<int32_t> weights;  // `stride` for each output value
  size_t stride = 1;

  const int32_t* of(size_t output) const { return weights.data() + output * stride; }
};

axis nearest_axis(uint32_t in, uint64_t out, uint64_t begin, uint32_t count) {
  axis a;
  a.weights.assign(count, unit);
  const double step = static_cast<double>(in) / static_cast<double>(out);
  double at = step * 0.5;  // a sum, as in Pillow: a product rounds otherwise
  for (uint64_t i = 0; i < begin + count; ++i, at += step)
    if (i >= begin) a.ranges.push_back({std::min(static_cast<uint32_t>(at), in - 1), 1});
  return a;
}

axis weighted_axis(uint32_t in, uint64_t out, uint64_t begin, uint32_t count, double support,
                   double (*filter)(double)) {
  const double step = static_cast<double>(in) / static_cast<double>(out);
  const double widening = std::max(step, 1.0);
  support *= widening;
  axis a;
  a.stride = static_cast<size_t>(std::ceil(support)) * 2 + 1;
  a.ranges.resize(count);
  a.weights.assign(a.stride * count, 0);
  std::vector<double> exact(a.stride);
  for (uint32_t i = 0; i < count; ++i) {
    const double centre = (static_cast<double>(begin + i) + 0.5) * step;
    const auto first = static_cast<uint32_t>(std::max(centre - support + 0.5, 0.0));
    const auto end = static_cast<uint32_t>(std::min(centre + support + 0.5, static_cast<double>(in)));
    double sum = 0;
    for (uint32_t x = first; x < end; ++x)
      sum += exact[x - first] = filter((x - centre + 0.5) * (1 / widening));
    a.ranges[i] = {first, end - first};
    for (uint32_t x = 0; x < end - first; ++x) {
      const double w = (sum != 0 ? exact[x] / sum : exact[x]) * unit;
      a.weights[i * a.stride + x] = static_cast<int32_t>(w < 0 ? w - 0.5 : w + 0.5);
    }
  }
  return a;
}

axis make_axis(image_filter filter, uint32_t in, uint64_t out, uint64_t begin, uint32_t count) {
  if (in == out || filter == image_filter::nearest) return nearest_axis(in, out, begin, count);
  if (filter == image_filter::bilinear) return weighted_axis(in, out, begin, count, 1, triangle);
  return weighted_axis(in, out, begin, count, 2, cubic);
}

template <int Channels>
void resample_row(const uint8_t* in, const axis& columns, uint8_t* out) {
  for (size_t x = 0; x < columns.ranges.size(); ++x) {
    const auto [first, count] = columns.ranges[x];
    const auto* weights = columns.of(x);
    const auto* pixel = in + size_t{first} * Channels;
    int32_t sums[Channels];
    std::fill_n(sums, Channels, half_unit);
    for (uint32_t i = 0; i < count; ++i, pixel += Channels)
      for (int c = 0; c < Channels; ++c) sums[c] += pixel[c] * weights[i];
    for (int c = 0; c < Channels; ++c) *out++ = rounded(sums[c]);
  }
}

image resample_rows_first(const image& from, const image_window& window, image_filter filter) {
  const auto columns = make_axis(filter, from.width, window.width, window.left, window.window_width);
  const auto rows = make_axis(filter, from.height, window.height, window.top, window.window_height);
  auto out = image::of_size(window.window_width, window.window_height, from.channels);
  const auto values = out.row_bytes();
  std::vector<uint8_t> line(values);
  std::vector<int32_t> sums(out.bytes(), half_unit);
  // Each input row is resampled once, and added to all output rows that it counts for.
  size_t open = 0;
  for (uint32_t y = 0; y < from.height && open < rows.ranges.size(); ++y) {
    if (y < rows.ranges[open].first) continue;
    if (from.channels == 1)
      resample_row<1>(from.row(y), columns, line.data());
    else
      resample_row<3>(from.row(y), columns, line.data());
    for (size_t r = open; r < rows.ranges.size() && rows.ranges[r].first <= y; ++r) {
      const auto weight = rows.of(r)[y - rows.ranges[r].first];
      auto* sum = sums.data() + r * values;
      for (size_t i = 0; i < values; ++i) sum[i] += line[i] * weight;
    }
    while (open < rows.ranges.size() && rows.ranges[open].first + rows.ranges[open].count <= y + 1) ++open;
  }
  std::ranges::transform(sums, out.pixels.get(), rounded);
  return out;
}

}  // namespace

image resample(const image& from, const image_window& window, image_filter filter) {
  if (from.height <= uint64_t{from.width} * 100 || window.height >= from.height)
    return resample_rows_first(from, window, filter);
  // Pillow begins with the columns of very narrow images
  const auto shorter = resample_rows_first(from,
                                           {.width = from.width,
                                            .height = window.height,
                                            .top = window.top,
                                            .window_width = from.width,
                                            .window_height = window.window_height},
                                           filter);
  return resample_rows_first(shorter,
                             {.width = window.width,
                              .height = window.window_height,
                              .left = window.left,
                              .window_width = window.window_width,
                              .window_height = window.window_height},
                             filter);
}

}  // namespace troupe
