#include "tools/lab/latency_measure.hpp"

#include <doctest/doctest.h>

#include "tests/tools/lab/problems.hpp"
#include "tools/lab/parameter.hpp"

using namespace troupe;
using namespace troupe::lab;

namespace {

const std::string latency_head =
    "[experiment]\ntitle = 'x'\nmeasure = 'latency'\npolicies = ['sgmv', 'decode']\n";

}  // namespace

TEST_CASE("latency measure: every policy takes time, and more sequences take more") {
  scenario s;
  s.latency = latency_setup{adapter_popularity::distinct, 2, 8, 64, 16};
  for (const auto p : latency_policies) CHECK(measure_step_latency(s, p, true).value > 0);
  point out;
  summarise_latencies({{5, {}, {}, {}}, {7, {}, {}, {}}, {6, {}, {}, {}}}, out);
  CHECK(out.metrics.at("latency_us") == 6);
}

TEST_CASE("latency measure: a file gives the operators, and an axis varies them") {
  const auto r = read_experiment_text(latency_head + R"([latency]
rank = 4
[[axis]]
parameter = "batch"
values = [1, 8]
[[case]]
name = "skewed"
latency = { popularity = "skewed" }
)",
                                      "e.toml");
  for (const auto& p : r.problems) FAIL(to_string(p));
  CHECK(r.spec.cases.at(0).base.latency->rank == 4);
  CHECK(r.spec.cases.at(0).base.latency->popularity == adapter_popularity::skewed);
  auto changed = r.spec.cases.at(0).base;
  parameter_named("batch")->set(changed, 8);
  CHECK(changed.latency->batch == 8);
}

TEST_CASE("latency measure: unsupported keys are refused") {
  CHECK(experiment_problems(latency_head).find("latency: is for the measure latency, which needs it") !=
        std::string::npos);
  CHECK(experiment_problems(latency_head + "[latency]\npopularity = 'zipf'\n").find("give \"skewed\"") !=
        std::string::npos);
  CHECK(experiment_problems(latency_head + "[latency]\n[[axis]]\nparameter = 'gpus'\nvalues = [1]\n")
            .find("has no effect") != std::string::npos);
}
