#include "tools/lab/goodput_search.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

using namespace troupe::lab;

TEST_CASE("the highest rate is found wherever the search begins") {
  for (const double truth : {0.013, 1.0, 5'309.0, 2.5e6}) {
    for (const double off : {0.01, 0.5, 1.0, 1.001, 3.0, 40.0}) {
      CAPTURE(truth);
      CAPTURE(off);
      int runs = 0;
      const double found = highest_rate({.guess = truth * off, .precision = 0.001},
                                        [&](double rate) { return ++runs, rate <= truth; });
      CHECK(found <= truth);
      CHECK(found > truth / 1.001);
      CHECK(runs < 25);
    }
  }
}

TEST_CASE("near the guess a search takes few runs") {
  int runs = 0;
  highest_rate({.guess = 100, .precision = 0.002}, [&](double rate) { return ++runs, rate <= 95; });
  CHECK(runs <= 9);
}

TEST_CASE("if no rate is served the answer is 0, and no rate below the minimum is tried") {
  double lowest = 1e9;
  const double found = highest_rate({.guess = 100, .min = 7}, [&](double rate) {
    lowest = std::min(lowest, rate);
    return false;
  });
  CHECK(found == 0);
  CHECK(lowest == 7);
}

TEST_CASE("if every rate is served the answer is the maximum") {
  CHECK(highest_rate({.guess = 100, .max = 777}, [](double) { return true; }) == 777);
}

TEST_CASE("a rate that was not served is never the answer") {
  // noise: served and not served alternate near the true value
  std::vector<double> refused;
  const double found = highest_rate({.guess = 50, .precision = 0.0005}, [&](double rate) {
    const bool ok = rate < 99 || (rate < 101 && std::fmod(rate * 1000, 2) < 1);
    if (!ok) refused.push_back(rate);
    return ok;
  });
  for (const double r : refused) CHECK(found != r);
  CHECK(found > 98.9);
  CHECK(found < 101);
}

TEST_CASE("the least count is found wherever the search begins") {
  for (uint32_t truth = 1; truth <= 40; ++truth) {
    for (uint32_t guess : {1u, 2u, 17u, 39u, 40u, 1000u}) {
      CAPTURE(truth);
      CAPTURE(guess);
      int runs = 0;
      CHECK(min_count(guess, 40, [&](uint32_t n) {
              CHECK(n >= 1);
              CHECK(n <= 40);
              return ++runs, n >= truth;
            }) == truth);
      CHECK(runs <= 12);
    }
  }
  CHECK(min_count(3, 40, [](uint32_t) { return false; }) == 0);
}
