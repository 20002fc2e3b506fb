#include "tools/lab/timeline.hpp"

#include <doctest/doctest.h>

using namespace troupe;
using namespace troupe::lab;

TEST_CASE("a timeline counts what was served, lost and busy in every step") {
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
  CHECK(tables[0].rows[0] == std::vector<double>{0, 1, 1, 2, 0.7, -3.3, 0});
  // all is lost in the second: as many GPUs again
  CHECK(tables[0].rows[1] == std::vector<double>{10, 0.1, 0, 1, 0.2, 4, 1});
  CHECK(tables[0].rows[2][3] == 1);
  CHECK(tables[0].rows[2][4] == doctest::Approx(0.1));
  CHECK(tables[1].name == "a");
  CHECK(tables[1].rows[0] == std::vector<double>{0, 0.6, 0});
  CHECK(tables[2].rows[1] == std::vector<double>{10, 0, 0.1});
  CHECK(watch.bad_rate_where_busy_below(1) == doctest::Approx(1.0 / 12));
  CHECK(watch.bad_rate_where_busy_below(0.04) == doctest::Approx(0));
}
