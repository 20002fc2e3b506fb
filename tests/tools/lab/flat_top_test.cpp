#include "tools/lab/flat_top.hpp"

#include <doctest/doctest.h>

using namespace troupe::lab;

namespace {

experiment over_load() {
  experiment e;
  e.what = measure::load;
  e.axes = {{"gpus", {1, 2}, {}}, {"rate_rps", {100, 400, 600, 800}, {}}};
  return e;
}

point at(double gpus, double rate, const char* policy, double goodput, double busy) {
  return {"",     {gpus, rate},
          policy, {{"goodput_rps", goodput}, {"gpu_busy", busy}, {"bad_rate", 1 - goodput / rate}},
          {},     {}};
}

}  // namespace

TEST_CASE("a point is held against the peak of its own curve") {
  const auto e = over_load();
  std::vector<point> points{at(2, 100, "deferred", 100, 0.27), at(2, 400, "deferred", 400, 0.98),
                            at(2, 800, "deferred", 380, 1),    at(2, 100, "eager", 100, 0.5),
                            at(2, 800, "eager", 200, 1),       at(1, 100, "deferred", 90, 1)};
  add_flat_top(e, points);
  CHECK(points[0].metrics.at("of_peak") == doctest::Approx(0.25));
  CHECK(points[0].metrics.at("busy_off_load") == doctest::Approx(0.02));
  CHECK(points[1].metrics.at("of_peak") == 1);
  CHECK(points[1].metrics.at("busy_off_load") == doctest::Approx(-0.02));
  CHECK(points[2].metrics.at("of_peak") == doctest::Approx(0.95));
  CHECK_FALSE(points[2].metrics.contains("busy_off_load"));  // the offered load is above the peak
  CHECK(points[3].metrics.at("busy_off_load") == doctest::Approx(0));
  CHECK(points[4].metrics.at("of_peak") == 1);
  CHECK(points[5].metrics.at("of_peak") == 1);  // of one GPU, not of two
}

TEST_CASE("a load whose excess is dropped for the rest is not a peak") {
  const auto e = over_load();
  std::vector<point> points{at(2, 400, "deferred", 400, 0.9), at(2, 600, "deferred", 410, 1),
                            at(2, 800, "deferred", 440, 1)};
  add_flat_top(e, points);
  CHECK(points[1].metrics.at("of_peak") == 1);
  CHECK(points[2].metrics.at("of_peak") == doctest::Approx(440.0 / 410));
  CHECK(points[0].metrics.at("busy_off_load") == doctest::Approx(0.9 - 400.0 / 410));
}

TEST_CASE("without a load that varies there is no top") {
  auto e = over_load();
  std::vector<point> points{at(2, 100, "deferred", 100, 0.27)};
  e.what = measure::goodput;
  add_flat_top(e, points);
  CHECK_FALSE(points[0].metrics.contains("of_peak"));
  e.what = measure::load;
  e.axes.pop_back();
  points[0].at.pop_back();
  add_flat_top(e, points);
  CHECK_FALSE(points[0].metrics.contains("of_peak"));
}
