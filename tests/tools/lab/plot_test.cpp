#include "tools/lab/plot.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace troupe::lab;

namespace {

results two_lines() {
  results r;
  r.what.name = "fig";
  r.what.title = "It's a figure";
  r.what.policies = {"deferred", "eager"};
  r.what.axes = {{"gpus", {1, 2}, {}}};
  r.what.plot = plot_spec{};
  r.what.plot->x = "gpus";
  r.what.plot->y = {"goodput_rps"};
  r.what.plot->lines = "policy";
  for (const double gpus : {1.0, 2.0}) {
    r.points.push_back({"", {gpus}, "deferred", {{"goodput_rps", 100 * gpus}}, {}, {}});
    r.points.push_back(
        {"", {gpus}, "eager", {{"goodput_rps", gpus == 2 ? HUGE_VAL : 80}}, {{"goodput_rps", 70}}, {}});
  }
  return r;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a plot has a line for each policy, with its data") {
  const auto script = plot_script(two_lines());
  CHECK(contains(script, "$data0 << EOD\n1 100\n2 200\nEOD\n"));
  CHECK(contains(script, "$data1 << EOD\n1 80\n2 ?\nEOD\n"));  // infinite values are left out
  CHECK(contains(script, "'It''s a figure'"));
  CHECK(contains(script, "title 'eager'"));
  CHECK(contains(script, "$data2 << EOD\n1 70\nEOD\n"));
  CHECK(contains(script, "title 'the paper'"));
}

TEST_CASE("a line without a finite value is left out, and a panel without lines is an empty frame") {
  auto r = two_lines();
  for (auto& p : r.points)
    if (p.policy == "eager") p.metrics["goodput_rps"] = HUGE_VAL;
  CHECK_FALSE(contains(plot_script(r), "title 'eager'"));
  CHECK(contains(plot_script(r), "title 'deferred'"));
  for (auto& p : r.points) p.metrics["goodput_rps"] = HUGE_VAL;
  CHECK(contains(plot_script(r), "plot NaN"));
  CHECK_FALSE(contains(plot_script(r), "$data"));
}

TEST_CASE("bars stand beside the values of the paper") {
  auto r = two_lines();
  r.what.plot->what = plot_spec::kind::bars;
  const auto script = plot_script(r);
  CHECK(contains(script, "with boxes"));
  CHECK(contains(script, "title 'the paper'"));
  CHECK(contains(script, "'gpus 2' 1"));
}

TEST_CASE("an experiment without a plot has no script") {
  auto r = two_lines();
  r.what.plot.reset();
  CHECK(plot_script(r).empty());
}
