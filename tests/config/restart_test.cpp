#include "tests/config/cluster_text.hpp"

using namespace troupe;

namespace {

cluster_reading with_restart(const std::string& table) { return read(std::string(good_cluster) + table); }

}  // namespace

TEST_CASE("restart: by default a node is started again for ever, after 30 s at most") {
  const auto c = with_restart("");
  REQUIRE_MESSAGE(c.ok(), listed(c.problems));
  CHECK(c.spec.restart.max_delay == 30s);
  CHECK(c.spec.restart.give_up_after == 0);
}

TEST_CASE("restart: the longest delay and a bound of deaths can be given") {
  const auto c = with_restart("[restart]\nmax_delay_s = 0.5\ngive_up_after = 3\n");
  REQUIRE_MESSAGE(c.ok(), listed(c.problems));
  CHECK(c.spec.restart.max_delay == 500ms);
  CHECK(c.spec.restart.give_up_after == 3);
}

TEST_CASE("restart: values out of range and unknown keys are refused with their place") {
  for (const std::string bad :
       {"max_delay_s = 0.1", "max_delay_s = 3601", "give_up_after = -1", "max_delay = 3"}) {
    CAPTURE(bad);
    const auto c = with_restart("[restart]\n" + bad + "\n");
    REQUIRE(c.problems.size() == 1);
    CAPTURE(to_string(c.problems[0]));
    CHECK(to_string(c.problems[0]).find(bad.substr(0, bad.find(' '))) != std::string::npos);
  }
}
