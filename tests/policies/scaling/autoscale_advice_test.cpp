#include "policies/scaling/autoscale_advice.hpp"

#include <doctest/doctest.h>

#include <functional>

using namespace troupe;

namespace {

/// Samples a second apart.
struct observed {
  explicit observed(const autoscale_parameters& p = {}) : advice(p) {}
  /// Samples with the same values for this many seconds.
  int32_t see(uint32_t gpus, double busy, double bad_rate, int seconds = 1) {
    int32_t last = 0;
    for (int i = 0; i < seconds; ++i) {
      const auto bad = static_cast<uint64_t>(1000 * bad_rate);
      last = advice.add(now, {gpus, from_ms(1000 * busy), 1000 - bad, bad}).gpus;
      now += 1s;
    }
    return last;
  }
  autoscale_advice advice;
  time_point now{5h};
};

}  // namespace

TEST_CASE("advice: N·r/(1 − r) GPUs more at bad rate r, whole ones") {
  observed a;
  CHECK(a.see(8, 8, 0.2, 3) == 2);  // 8 · 0.25
  CHECK(a.advice.advice().bad_rate == doctest::Approx(0.2));
  CHECK(a.see(8, 8, 0.5, 2) == 8);
  CHECK(observed().see(8, 8, 0.02, 3) == 1);
  CHECK(observed().see(100, 100, 0.5, 3) == 100);
}

TEST_CASE("advice: N·f GPUs fewer at idle fraction f, less a tenth of the busy ones") {
  observed a({.reserve = 0});
  CHECK(a.see(20, 8, 0, 12) == -12);
  CHECK(a.advice.advice().idle == doctest::Approx(0.6));
  observed b;
  CHECK(b.see(20, 8, 0, 12) == -11);  // 8.8 are kept
  CHECK(observed().see(10, 9.2, 0, 12) == 0);
}

TEST_CASE("advice: more only after two bad samples, fewer only after a whole window of good ones") {
  observed a;
  CHECK(a.see(8, 8, 0, 2) == 0);
  CHECK(a.see(8, 8, 0.3) == 0);
  CHECK(a.see(8, 8, 0) == 0);
  CHECK(a.see(8, 8, 0.3) == 0);
  CHECK(a.see(8, 8, 0.3) == 4);   // ⌈3.43⌉
  CHECK(a.see(8, 2, 0, 9) == 0);  // the busiest sample counts
  CHECK(a.see(8, 2, 0) < 0);
}

TEST_CASE("advice: the tolerated bad rate is no reason for more") {
  CHECK(observed().see(8, 8, 0.01, 20) == 0);
  CHECK(observed({.bad_rate = 0.1}).see(8, 8, 0.09, 20) == 0);
}

TEST_CASE("advice: it stays within its bounds, also where all is lost or nothing happens") {
  CHECK(observed({.max_gpus = 10}).see(8, 8, 0.5, 3) == 2);
  CHECK(observed({.max_gpus = 8}).see(8, 8, 0.5, 3) == 0);
  CHECK(observed({.max_gpus = 6}).see(8, 8, 0, 3) == -2);
  CHECK(observed({.min_gpus = 4}).see(8, 0, 0, 12) == -4);
  CHECK(observed({.min_gpus = 4}).see(2, 0, 0, 3) == 2);
  CHECK(observed().see(8, 0, 0, 12) == -7);
  CHECK(observed().see(8, 8, 1, 3) == 32);
  CHECK(observed({.min_gpus = 0}).see(0, 0, 1, 3) == 4);  // no GPU serves
  observed silent;
  silent.advice.add(silent.now, {4, {}, 0, 0});
  CHECK(silent.advice.add(silent.now + 1s, {4, {}, 0, 0}).bad_rate == 0);
}

TEST_CASE("advice: a change of the number of GPUs begins anew") {
  observed a;
  CHECK(a.see(8, 4, 0, 12) < 0);
  CHECK(a.see(7, 4, 0, 10) == 0);
  CHECK(a.see(7, 4, 0) < 0);
}

TEST_CASE("advice: an insufficient number is not tried again until the load is a tenth lower") {
  observed a;
  CHECK(a.see(3, 1.7, 0, 12) == -1);
  // Two are too few for this load.
  CHECK(a.see(2, 1.8, 0.05, 3) == 1);
  CHECK(a.see(3, 1.7, 0, 40) == 0);
  CHECK(a.see(3, 1.55, 0, 40) == 0);
  CHECK(a.see(3, 1.5, 0, 12) == -1);
}

TEST_CASE("applied advice settles under a constant load") {
  // GPUs can be busy for nine tenths of the time before requests end badly.
  const auto settle = [](double load, uint32_t gpus, int seconds) {
    observed a;
    int changes = 0;
    for (int t = 0; t < seconds; ++t) {
      const double served = std::min(load, 0.9 * gpus);
      const auto by = a.see(gpus, served, 1 - served / load);
      changes += by != 0;
      gpus = static_cast<uint32_t>(static_cast<int32_t>(gpus) + by);
    }
    return std::pair(gpus, changes);
  };
  CHECK(settle(8, 20, 100) == std::pair(9u, 1));
  CHECK(settle(8, 4, 100).first == 9);
  CHECK(settle(8, 4, 100).second <= 3);
  for (double load = 0.5; load < 60; load *= 1.17)
    for (const uint32_t start : {1u, 3u, 20u, 64u}) {
      const auto [gpus, changes] = settle(load, start, 2000);
      CAPTURE(load);
      CAPTURE(start);
      CHECK(0.9 * gpus >= 0.99 * load);
      CHECK(gpus <= 1.1 * load + 2);
      CHECK(changes <= 6);
    }
}
