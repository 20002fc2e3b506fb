#include "tools/lab/timeline.hpp"

#include <doctest/doctest.h>

using namespace troupe;
using namespace troupe::lab;

TEST_CASE("a timeline counts served and lost requests and busy time in every step") {
  trial t;
  t.models.resize(2);
  t.models[0].name = "a";
  t.models[1].name = "b";
  t.slots = 4;
  t.length = 30s;
  timeline watch{t, 10s};
  watch.on_batch({0, 0, 6, 0s, 1s, 6s});   // all of it in the first step
  watch.on_batch({1, 2, 4, 8s, 8s, 12s});  // half and half
  watch.on_loss({1, 19s, 19s});
  watch.on_batch({0, 0, 1, 29s, 29s, 31s});  // beyond the end
  const auto tables = watch.tables(t);
  REQUIRE(tables.size() == 3);
  REQUIRE(tables[0].columns == std::vector<std::string>{"time_s", "offered_rps", "goodput_rps", "gpus_used",
                                                        "gpus_busy", "advice_gpus", "bad_rate"});
  REQUIRE(tables[0].rows.size() == 3);
  CHECK(tables[0].rows[0] == std::vector<double>{0, 1, 1, 2, 0.7, 0, 0});
  CHECK(tables[0].rows[1] == std::vector<double>{10, 0.1, 0, 1, 0.2, 0, 1});
  CHECK(tables[0].rows[2][3] == 1);
  CHECK(tables[0].rows[2][4] == doctest::Approx(0.1));
  CHECK(tables[1].name == "a");
  CHECK(tables[1].rows[0] == std::vector<double>{0, 0.6, 0});
  CHECK(tables[2].rows[1] == std::vector<double>{10, 0, 0.1});
  CHECK(watch.bad_rate_where_busy_below(1) == doctest::Approx(1.0 / 12));
  CHECK(watch.bad_rate_where_busy_below(0.04) == doctest::Approx(0));
}

TEST_CASE("the advice is the autoscaler's, step by step, and follows the load") {
  trial t;
  t.models.resize(1);
  t.slots = 4;
  t.length = 40s;
  timeline watch{t, 1s};
  const auto second = [](int i) { return std::chrono::seconds(i); };
  for (int i = 0; i < 20; ++i) watch.on_batch({0, 0, 10, second(i), second(i), second(i) + 800ms});
  for (int i = 20; i < 40; ++i) {  // a third is lost
    for (uint32_t s = 0; s < 4; ++s) watch.on_batch({0, s, 10, second(i), second(i), second(i + 1)});
    for (int k = 0; k < 20; ++k) watch.on_loss({0, second(i), second(i)});
  }
  const auto rows = watch.tables(t)[0].rows;
  CHECK(rows[8][5] == 0);    // only after a whole window
  CHECK(rows[10][5] == -3);  // one slot would be enough
  CHECK(rows[19][5] == -3);
  CHECK(rows[21][5] == 2);  // 4 (1/3) / (2/3)
  CHECK(rows[39][5] == 2);
  CHECK(watch.used_over_busy_below(0.85) == doctest::Approx(1 / 0.8));
  CHECK(watch.advice_follows_load() > 0.9);
}

TEST_CASE("without work there is no use and no load") {
  trial t;
  t.models.resize(1);
  t.slots = 4;
  t.length = 40s;
  const timeline watch{t, 1s};
  CHECK(watch.used_over_busy_below(0.85) == 0);
  CHECK(watch.advice_follows_load() == 0);
}
