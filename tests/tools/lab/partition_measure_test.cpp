#include "tools/lab/partition_measure.hpp"

#include <doctest/doctest.h>

#include "tests/tools/lab/problems.hpp"
#include "tools/lab/experiment_runner.hpp"
#include "tools/lab/plot.hpp"

using namespace troupe::lab;

namespace {

sample with(double rate, double memory, double seconds) {
  sample s;
  s.metrics = {{"rate_imbalance", rate}, {"memory_imbalance", memory}, {"seconds", seconds}};
  return s;
}

std::string text(const std::string& more) {
  return "[experiment]\ntitle = 'x'\nmeasure = 'partition'\npolicies = ['search', 'random']\n"
         "relative_to = 'random'\n" +
         more;
}

const std::string zoo_setup = "[partition]\nzoo = '" TROUPE_EXAMPLES
                              "/profiles/parameters.csv'\nmodels = 40\nparts = 4\nsteps = 20000\n"
                              "device_gb = 100\nrandom_s = 0.01\n[search]\nseeds = 3\n"
                              "[plot]\nkind = 'curves'\nlog_x = true\n";

}  // namespace

TEST_CASE("configurations are summarised by median, minimum, maximum and distribution") {
  point p;
  summarise_partitions({with(0.3, 3, 1), with(0.1, 1, 5), with(0.2, 2, 2)}, p);
  CHECK(p.metrics.at("rate_imbalance") == 0.2);
  CHECK(p.metrics.at("min_rate_imbalance") == 0.1);
  CHECK(p.metrics.at("max_memory_imbalance") == 3);
  CHECK(p.metrics.at("seconds") == 2);
  REQUIRE(p.tables.size() == 2);
  CHECK(p.tables[0].columns == std::vector<std::string>{"rate_imbalance", "configurations_up_to"});
  CHECK(p.tables[0].rows == std::vector<std::vector<double>>{{0.1, 1.0 / 3}, {0.2, 2.0 / 3}, {0.3, 1}});
}

TEST_CASE("an experiment partitions a zoo by the search and at random") {
  const auto r = read_experiment_text(text(zoo_setup), "e.toml");
  for (const auto& p : r.problems) FAIL(to_string(p));
  const auto done = run_experiment(r.spec, {.threads = 2});
  REQUIRE(done.points.size() == 2);
  const auto &search = done.points[0].metrics, &random = done.points[1].metrics;
  CHECK(search.at("max_rate_imbalance") < random.at("min_rate_imbalance"));
  CHECK(search.at("relative") < 1);
  CHECK(done.points[0].tables.at(0).rows.size() == 3);
  const auto script = plot_script(done);
  CHECK(script.find("set logscale x") != std::string::npos);
  CHECK(script.find("set title 'memory_imbalance'") != std::string::npos);
}

TEST_CASE("a missing key of a partition is reported with its place") {
  CHECK(experiment_problems(text("")) == "1:1: partition: is missing; the measure partition needs it");
  CHECK(experiment_problems(text("[partition]\nzoo = '/nowhere.csv'\n"))
            .starts_with("7:7: partition.zoo: /nowhere.csv: "));
  CHECK(experiment_problems("[experiment]\ntitle = 'x'\nmeasure = 'partition'\npolicies = ['deferred']\n" +
                            zoo_setup)
            .starts_with("4:12: experiment.policies: unknown method 'deferred'; there are search, random"));
}
