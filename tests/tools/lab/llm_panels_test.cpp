#include "tools/lab/llm_panels.hpp"

#include <doctest/doctest.h>

using namespace troupe::lab;

TEST_CASE("llm panels: requests, tokens and every engine of each policy, in the same colours") {
  results r;
  const auto add = [&](const char* policy, double sequences) {
    point p;
    p.policy = policy;
    p.tables = {
        {"", {"time_s", "offered_rps", "tokens_per_s", "engines_idle"}, {{0, 1, 100, 1}, {5, 2, 200, 0}}},
        {"batches", {"time_s", "engine", "sequences"}, {{0, 0, sequences}, {0, 1, 0}, {5, 0, 1}, {5, 1, 1}}}};
    r.points.push_back(p);
  };
  add("punica", 32);
  add("least_loaded", 4);
  r.points.emplace_back();  // without a timeline
  const auto panels = engine_panels(r);
  REQUIRE(panels.size() == 6);
  CHECK(panels[0].title == "punica");
  CHECK(panels[0].lines.at(0).data == "0 1\n5 2\n");
  CHECK(panels[1].lines.at(0).data == "0 100\n5 200\n");
  CHECK(panels[2].lines.at(0).data == "0 0 32\n0 1 0\n5 0 1\n5 1 1\n");
  CHECK(panels[2].settings.find("set cbrange [0:32]") != std::string::npos);
  CHECK(panels[5].settings.find("set cbrange [0:32]") != std::string::npos);
  CHECK(panels[5].settings.find("set yrange [-0.5:1.5]") != std::string::npos);
}
