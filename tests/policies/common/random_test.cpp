#include "policies/common/random.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace troupe;

TEST_CASE("splitmix64 gives its published numbers") {
  uint64_t state = 1234567;
  CHECK(splitmix64(state) == 6457827717110365317u);
  CHECK(splitmix64(state) == 3203168211198807973u);
  CHECK(splitmix64(state) == 9817491932198370423u);
}

TEST_CASE("a stream is determined by seed, name and index, and by each of them") {
  const auto draws = [](random_stream r) { return std::vector{r(), r(), r(), r()}; };
  const auto reference = draws({7, "arrivals", 1});
  CHECK(draws({7, "arrivals", 1}) == reference);
  CHECK(draws({8, "arrivals", 1}) != reference);
  CHECK(draws({7, "faults", 1}) != reference);
  CHECK(draws({7, "arrivals", 2}) != reference);
}

TEST_CASE("uniform and below stay in their ranges and fill them evenly") {
  random_stream random(3, "uniform");
  std::vector<int> tenths(10), sevenths(7);
  for (int i = 0; i < 70000; ++i) {
    const double u = random.uniform();
    REQUIRE(u >= 0);
    REQUIRE(u < 1);
    ++tenths[static_cast<size_t>(u * 10)];
    ++sevenths.at(random.below(7));
  }
  for (const int n : tenths) CHECK(n == doctest::Approx(7000).epsilon(0.06));
  for (const int n : sevenths) CHECK(n == doctest::Approx(10000).epsilon(0.05));
}
