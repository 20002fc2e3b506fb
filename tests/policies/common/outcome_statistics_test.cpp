#include "policies/common/outcome_statistics.hpp"

#include <doctest/doctest.h>

using namespace troupe;

TEST_CASE("outcome statistics: several ids of one name are one model") {
  outcome_statistics s;
  s.finish(model_id{0}, 10ms, true);
  s.finish(model_id{2}, 30ms, false);
  s.finish(model_id{2}, 30ms, true);
  s.finish(model_id{1}, 1ms, true);
  std::vector<outcome_counts> counts(3);
  counts[0].finished = 1;
  counts[1].finished = 1;
  counts[2].accepted = 5;
  counts[2].finished = 2;
  const std::vector<std::string> names{"m", "other", "m"};
  const auto all = s.by_name(names, counts);
  REQUIRE(all.size() == 2);
  const auto& m = all.at("m");
  CHECK(m.in_time == 2);
  CHECK(m.outcomes.finished == 3);
  CHECK(m.outcomes.accepted == 5);
  CHECK(m.latency.count() == 3);
  CHECK(m.latency.min() == 10ms);
  CHECK(m.latency.max() == 30ms);
  CHECK(all.at("other").latency.count() == 1);
}

TEST_CASE("outcome statistics: forgotten models are counted together") {
  outcome_statistics s;
  s.finish(model_id{0}, 1ms, true);
  s.finish(model_id{1}, 10ms, true);
  s.finish(model_id{3}, 30ms, false);
  s.forget(model_id{2});  // had no requests
  s.forget(model_id{1});
  s.forget(model_id{1});
  s.forget(model_id{3});
  const std::vector<std::string> names{"m", "gone", "gone", "gone"};
  const auto all = s.by_name(names, {});
  CHECK(all.at("m").latency.count() == 1);
  CHECK(all.at("gone").latency.count() == 2);
  CHECK(all.at("gone").latency.max() == 30ms);
  CHECK(all.at("gone").in_time == 1);
}

TEST_CASE("outcome statistics: a name without requests has a summary of zeros, an id without a name none") {
  outcome_statistics s;
  s.finish(model_id{4}, 10ms, true);
  const std::vector<std::string> names{"idle"};
  const auto all = s.by_name(names, {});
  REQUIRE(all.size() == 1);
  CHECK(all.at("idle").outcomes == outcome_counts{});
  CHECK(all.at("idle").latency.count() == 0);
  CHECK(all.at("idle").in_time == 0);
}
