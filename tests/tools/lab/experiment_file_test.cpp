#include "tools/lab/experiment_file.hpp"

#include <doctest/doctest.h>

#include <filesystem>

#include "tests/tools/lab/problems.hpp"

using namespace troupe;
using namespace troupe::lab;

TEST_CASE("an experiment varies parameters over cases, and lists the paper's claims") {
  const auto r = read_experiment_text(plain_experiment + R"([[axis]]
parameter = "slo_ms"
values = [20, 30, 40]
quick = [20]
[[case]]
name = "equal"
[[case]]
name = "zipf"
popularity = { zipf = 0.9 }
values = { slo_ms = [50] }
quick = false
[[claim]]
text = "ahead"
of = { policy = "deferred", slo_ms = 20 }
over = { policy = "eager" }
at_least = 1
points = 0.9
[[paper]]
policy = "deferred"
case = "equal"
metric = "mean_batch"
value = 14
[plot]
x = "slo_ms"
)",
                                      "folder/e.toml");
  for (const auto& p : r.problems) FAIL_CHECK(to_string(p));
  const auto& e = r.spec;
  CHECK(e.name == "e");
  CHECK(e.axes.at(0).values == std::vector<double>{20, 30, 40});
  CHECK(e.axes.at(0).quick == std::vector<double>{20});
  REQUIRE(e.cases.size() == 2);
  CHECK(e.cases[0].base.gpus == 4);
  CHECK(e.cases[1].base.zipf == 0.9);
  CHECK(e.cases[1].base.models.size() == 1);
  CHECK(e.cases[1].values.at("slo_ms") == std::vector<double>{50});
  CHECK_FALSE(e.cases[1].quick);
  REQUIRE(e.claims.size() == 1);
  CHECK(e.claims[0].metric == "goodput_rps");
  CHECK(e.claims[0].of.at.at("slo_ms") == 20);
  CHECK(e.claims[0].over->policy == "eager");
  CHECK(e.claims[0].points == 0.9);
  CHECK(e.paper.at(0).value == 14);
  CHECK(e.plot->x == "slo_ms");
  CHECK(e.plot->y == std::vector<std::string>{"goodput_rps"});
}

TEST_CASE("every problem of an experiment file is reported with its place") {
  CHECK(experiment_problems(plain_experiment) == "");
  CHECK(experiment_problems(plain_experiment + "[[axis]]\nparameter = 'gpus'\nvalues = [0]\n") ==
        "12:11: axis.values: holds 0; it must be an array of GPUs in 1..1048576");
  CHECK(experiment_problems(plain_experiment + "[[axis]]\nparameter = 'slo_ms'\nvalues = [20, 5]\n") ==
        "12:10: axis.values: with slo_ms = 5: model 'm' takes 6 ms for a single request, its SLO is 5 ms: no "
        "request can "
        "ever meet it; raise the SLO");
  auto instant = plain_experiment;
  instant.replace(instant.find("alpha_ms = 1"), 12, "alpha_ms = 0");
  CHECK(
      experiment_problems(instant + "[[axis]]\nparameter = 'beta_ms'\nvalues = [1, 0]\n") ==
      "12:10: axis.values: with beta_ms = 0: model 'm' has a latency of 0; give it an alpha_ms or a beta_ms");
  auto shared = plain_experiment;
  shared.replace(shared.find("gpus = 4"), 8, "gpus_per_model = 1000");
  CHECK(experiment_problems(shared + "[[axis]]\nparameter = 'copies'\nvalues = [1, 2000]\n") ==
        "12:10: axis.values: with copies = 2000: 2000000 GPUs are more than can be simulated, 1048576");
  CHECK(experiment_problems("[[model]]\nname = 'm'\nalpha_ms = 1\nbeta_ms = 5\nslo_ms = 25\n") ==
        "1:1: experiment: is missing; this is a scenario, for troupe goodput");
}

TEST_CASE("an unknown axis is one problem, even if other keys refer to it") {
  const auto told = experiment_problems(plain_experiment + R"(measure = "load"
[[axis]]
parameter = "rate"
values = [1]
[[case]]
name = "c"
values = { rate = [2] }
[[claim]]
text = "x"
of = { rate = 1 }
over = { rate = 2 }
at_least = 1
[[paper]]
rate = 1
value = 3
[plot]
x = "rate"
lines = "rate"
)");
  CHECK(told.starts_with("12:13: axis.parameter: must be one of \"gpus\", "));
  CHECK(told.find('\n') == std::string::npos);
}

TEST_CASE("a measure gets what it needs") {
  auto text = plain_experiment;
  text += "measure = \"fewest_gpus\"\n";
  CHECK(experiment_problems(text) ==
        "1:1: rate_rps: is missing; the measure fewest_gpus needs one, here or as an axis");
  CHECK(experiment_problems(text + "[[axis]]\nparameter = 'rate_rps'\nvalues = [5]\n") == "");
  CHECK(experiment_problems(text + "keeps = 'batches'\n")
            .find("only the measures goodput and load keep curves") != std::string::npos);
}

TEST_CASE("every example experiment is valid and names its source") {
  size_t experiments = 0;
  const auto folder = std::filesystem::path{TROUPE_EXAMPLES} / "experiments";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const auto name = entry.path().filename().string();
    if (!name.starts_with("figure") && name != "table2.toml") continue;
    CAPTURE(name);
    const auto r = read_experiment(entry.path());
    for (const auto& p : r.problems) FAIL_CHECK(to_string(p));
    CHECK(r.spec.reproduces.starts_with("Symphony, "));
    CHECK_FALSE(r.spec.says.empty());
    CHECK_FALSE(r.spec.differs.empty());
    CHECK_FALSE(r.spec.claims.empty());
    CHECK(r.spec.plot);
    ++experiments;
  }
  CHECK(experiments >= 14);
}
