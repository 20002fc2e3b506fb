#include "gpu/device/profile.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace troupe;

namespace {

std::vector<latency_sample> on_line(duration alpha, duration beta) {
  std::vector<latency_sample> samples;
  for (const uint32_t b : {1U, 2U, 4U, 8U, 16U}) samples.push_back({b, alpha * b + beta});
  return samples;
}

struct stepping_clock final : clock {
  mutable time_point t{};
  time_point now() const override { return t; }
};

}  // namespace

TEST_CASE("points on a line give that line exactly") {
  const auto fit = fit_latency(on_line(1200us, 5300us));
  CHECK(fit.model == latency_model{1200us, 5300us});
  CHECK(fit.max_relative_error < 1e-9);
  CHECK(fit.r_squared == doctest::Approx(1.0));
}

TEST_CASE("a line through the origin and a constant are fitted exactly") {
  CHECK(fit_latency(on_line(7ms, 0ms)).model == latency_model{7ms, 0ms});
  CHECK(fit_latency(on_line(0ms, 7ms)).model == latency_model{0ms, 7ms});
}

TEST_CASE("neither slope nor intercept becomes negative") {
  const std::vector<latency_sample> convex{{1, 1ms}, {2, 3ms}, {4, 9ms}};
  CHECK(fit_latency(convex).model.beta == 0ns);
  CHECK(fit_latency(convex).model.alpha > 1ms);
  const std::vector<latency_sample> falling{{1, 9ms}, {2, 8ms}, {4, 7ms}};
  CHECK(fit_latency(falling).model.alpha == 0ns);
}

TEST_CASE("one sample is attributed to the time per row") {
  const std::vector<latency_sample> one{{4, 8ms}};
  CHECK(fit_latency(one).model == latency_model{2ms, 0ms});
}

TEST_CASE("the fit minimises relative errors, so a small batch weighs as much as large ones") {
  auto samples = on_line(1ms, 0ms);
  samples.front().latency = 1500us;
  const auto fit = fit_latency(samples);
  CHECK(std::abs(to_ms(fit.model(1)) - 1.5) < 0.25);
  CHECK(fit.max_relative_error == doctest::Approx(0.1).epsilon(0.9));
  CHECK(fit.r_squared < 1);
}

TEST_CASE("the weighted fit is the minimum of the relative error") {
  const std::vector<latency_sample> samples{{1, 1100us}, {2, 1900us}, {4, 4200us}, {8, 7900us}};
  const auto error = [&](double alpha, double beta) {
    double sum = 0;
    for (const auto& s : samples) {
      const double y = static_cast<double>(s.latency.count()), e = (alpha * s.rows + beta - y) / y;
      sum += e * e;
    }
    return sum;
  };
  const auto m = fit_latency(samples).model;
  const auto a = static_cast<double>(m.alpha.count()), b = static_cast<double>(m.beta.count());
  for (const double step : {-1000.0, 1000.0}) {
    CHECK(error(a, b) < error(a + step, b));
    CHECK(error(a, b) < error(a, b + step));
  }
}

TEST_CASE("a measured latency is the median of repeated runs after a warm-up run") {
  stepping_clock c;
  int runs = 0;
  const std::vector<uint32_t> sizes{2, 5};
  const auto samples = measure_latency(c, sizes, 0ns, [&](uint32_t rows) {
    const duration odd = runs % 4 == 0 ? 1s : runs % 4 == 1 ? 3ms : 0ms;  // the first, and one outlier
    c.t += odd + rows * 1ms;
    ++runs;
  });
  REQUIRE(samples.size() == 2);
  CHECK(runs == 8);
  CHECK(samples[0].latency == 2ms);
  CHECK(samples[1].latency == 5ms);
}

TEST_CASE("a latency of more than half a second is measured once") {
  stepping_clock c;
  int runs = 0;
  const std::vector<uint32_t> sizes{1};
  const auto samples = measure_latency(c, sizes, 20ms, [&](uint32_t) {
    c.t += 600ms;
    ++runs;
  });
  CHECK(runs == 2);
  CHECK(samples[0].latency == 600ms);
}

TEST_CASE("profiled batch sizes are the powers of two below the largest, and the largest") {
  CHECK(profiled_batch_sizes(1) == std::vector<uint32_t>{1});
  CHECK(profiled_batch_sizes(8) == std::vector<uint32_t>{1, 2, 4, 8});
  CHECK(profiled_batch_sizes(12) == std::vector<uint32_t>{1, 2, 4, 8, 12});
}
