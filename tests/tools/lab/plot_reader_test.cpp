#include "tools/lab/plot_reader.hpp"

#include <doctest/doctest.h>

#include "tests/tools/lab/problems.hpp"

using namespace troupe;
using namespace troupe::lab;

TEST_CASE("a plot has the main metric, a line for each policy, and an axis that lines need") {
  const std::string axis = "[[axis]]\nparameter = 'slo_ms'\nvalues = [20, 30]\n";
  const auto r = read_experiment_text(plain_experiment + axis + "[plot]\nx = 'slo_ms'\n", "e.toml");
  CHECK(r.ok());
  REQUIRE(r.spec.plot);
  CHECK(r.spec.plot->x == "slo_ms");
  CHECK(r.spec.plot->y == std::vector<std::string>{"goodput_rps"});
  CHECK(r.spec.plot->lines == "policy");
  CHECK(experiment_problems(plain_experiment + axis + "[plot]\nx = 'rate_rps'\n")
            .starts_with("14:5: plot.x: must be one of \"slo_ms\""));
}

TEST_CASE("keys that a kind of plot ignores are problems, and so are kinds that a measure cannot draw") {
  CHECK(experiment_problems(plain_experiment + "[plot]\nkind = 'bars'\nx = 'slo_ms'\n")
            .find("only lines have one") != std::string::npos);
  CHECK(experiment_problems(plain_experiment + "[plot]\nkind = 'engines'\n")
            .find("only the measure llm has engines to draw") != std::string::npos);
  CHECK(experiment_problems(plain_experiment + "[plot]\nkind = 'bars'\npolicies = ['nexus']\n")
            .find("plot.policies") != std::string::npos);
}
