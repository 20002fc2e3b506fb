#include "policies/common/latency_histogram.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "policies/common/distributions.hpp"

using namespace troupe;

TEST_CASE("an empty histogram gives zero") {
  const latency_histogram h;
  CHECK(h.count() == 0);
  CHECK(h.quantile(0.99) == 0ns);
  CHECK(h.mean() == 0ns);
  CHECK(h.min() == 0ns);
  CHECK(h.max() == 0ns);
}

TEST_CASE("quantiles are within one per cent, mean and extremes exact, from nanoseconds to minutes") {
  for (const double scale : {30.0, 3e3, 3e6, 3e9, 1e11}) {
    CAPTURE(scale);
    random_stream random(1, "histogram");
    latency_histogram h;
    std::vector<int64_t> all;
    int64_t sum = 0;
    for (int i = 0; i < 10001; ++i) {
      all.push_back(static_cast<int64_t>(gamma_variate(random, 2, scale)));
      sum += all.back();
      h.add(duration{all.back()});
    }
    std::sort(all.begin(), all.end());
    for (const double q : {0.0, 0.001, 0.1, 0.5, 0.9, 0.99, 0.999, 1.0}) {
      const auto rank = static_cast<size_t>(std::max(1.0, std::ceil(q * 10001)));
      const auto exact = static_cast<double>(all[rank - 1]);
      CAPTURE(q);
      CHECK(std::abs(static_cast<double>(h.quantile(q).count()) - exact) <= 0.01 * exact);
    }
    CHECK(h.mean() == duration{sum / 10001});
    CHECK(h.min() == duration{all.front()});
    CHECK(h.max() == duration{all.back()});
  }
}

TEST_CASE("every duration lands in a bucket that is right to one per cent") {
  for (int64_t ns = 1; ns < int64_t{1} << 40; ns += 1 + ns / 97) {
    latency_histogram h;
    h.add(0ns);
    h.add(duration{ns});
    h.add(duration{int64_t{1} << 40});
    REQUIRE(std::abs(static_cast<double>(h.quantile(0.5).count() - ns)) <= 0.01 * static_cast<double>(ns));
  }
}

TEST_CASE("negative and endless durations are counted at the ends") {
  latency_histogram h;
  h.add(-5ms);
  h.add(1000h);
  CHECK(h.count() == 2);
  CHECK(h.min() == 0ns);
  CHECK(h.max() == 1000h);
  CHECK(h.quantile(0.5) == 0ns);
}

TEST_CASE("merged histograms are the histogram of everything") {
  latency_histogram a, b, both;
  for (int i = 1; i <= 1000; ++i) {
    (i % 3 == 0 ? a : b).add(i * 1us);
    both.add(i * 1us);
  }
  a.merge(b);
  a.merge(latency_histogram{});
  CHECK(a.count() == both.count());
  CHECK(a.mean() == both.mean());
  CHECK(a.min() == 1us);
  CHECK(a.max() == 1000us);
  for (const double q : {0.1, 0.5, 0.99}) CHECK(a.quantile(q) == both.quantile(q));
}
