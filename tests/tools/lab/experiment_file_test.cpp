#include "tools/lab/experiment_file.hpp"

#include <doctest/doctest.h>

#include <filesystem>

#include "tests/tools/lab/problems.hpp"

using namespace troupe;
using namespace troupe::lab;

namespace {

const std::string small = R"(gpus = 4
[[model]]
name = "m"
alpha_ms = 1
beta_ms = 5
slo_ms = 25
[experiment]
title = "small"
policies = ["deferred", "eager"]
)";

}  // namespace

TEST_CASE("an experiment varies parameters over cases, and lists the paper's claims") {
  const auto r = read_experiment_text(small + R"([[axis]]
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
  CHECK(experiment_problems(small) == "");
  CHECK(experiment_problems(small + "[[axis]]\nparameter = 'gpus'\nvalues = [0]\n") ==
        "12:11: axis.values: holds 0; it must be an array of GPUs in 1..1048576");
  CHECK(experiment_problems(small + "[[axis]]\nparameter = 'slo_ms'\nvalues = [20, 5]\n") ==
        "12:10: axis.values: with slo_ms = 5: model 'm' takes 6 ms for a single request, its SLO is 5 ms: no "
        "request can "
        "ever meet it; raise the SLO");
  auto instant = small;
  instant.replace(instant.find("alpha_ms = 1"), 12, "alpha_ms = 0");
  CHECK(
      experiment_problems(instant + "[[axis]]\nparameter = 'beta_ms'\nvalues = [1, 0]\n") ==
      "12:10: axis.values: with beta_ms = 0: model 'm' has a latency of 0; give it an alpha_ms or a beta_ms");
  auto shared = small;
  shared.replace(shared.find("gpus = 4"), 8, "gpus_per_model = 1000");
  CHECK(experiment_problems(shared + "[[axis]]\nparameter = 'copies'\nvalues = [1, 2000]\n") ==
        "12:10: axis.values: with copies = 2000: 2000000 GPUs are more than can be simulated, 1048576");
  CHECK(experiment_problems(small + "[[claim]]\ntext = 'x'\nof = { policy = 'nexus' }\nat_least = 1\n") ==
        "12:17: claim.of.policy: must be one of \"deferred\", \"eager\", not \"nexus\"");
  CHECK(experiment_problems(small + "[[claim]]\ntext = 'x'\n") ==
        "10:1: claim.at_least: is missing; give at_least, at_most or both");
  CHECK(experiment_problems(small + "[[claim]]\ntext = 'x'\nat_least = 1\nreproduced = false\n") ==
        "10:1: claim.because: is missing; give the reason why this claim is not reproduced");
  CHECK(experiment_problems(small + "[[claim]]\ntext = 'x'\nat_least = 1\nof = { slo_ms = 3 }\n") ==
        "13:8: claim.of: unknown key 'slo_ms'; known: policy, case");
  CHECK(experiment_problems("[[model]]\nname = 'm'\nalpha_ms = 1\nbeta_ms = 5\nslo_ms = 25\n") ==
        "1:1: experiment: is missing; this is a scenario, for troupe goodput");
}

TEST_CASE("an unknown policy is reported with its place") {
  auto text = small;
  text.replace(text.find("eager"), 5, "eagre");
  CHECK(experiment_problems(text).starts_with(
      "9:12: experiment.policies: unknown policy 'eagre' (did you mean 'eager'?); there are "));
}

TEST_CASE("an unknown axis is one problem, even if other keys refer to it") {
  const auto told = experiment_problems(small + R"(measure = "load"
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

TEST_CASE("policies must be distinct, and supported by the measure") {
  const auto with = [](const std::string& policies, const std::string& rest = "") {
    auto text = small;
    text.replace(text.find("\"deferred\", \"eager\""), 19, policies);
    return experiment_problems(text + rest);
  };
  CHECK(with(R"("eager", "eager")") == "9:12: experiment.policies: holds 'eager' twice; remove one");
  CHECK(with("\"timeout(k)\"") ==
        "9:12: experiment.policies: invalid policy 'timeout(k)'; use timeout(30%) (of the SLO), "
        "timeout(12.5ms) or timeout(800us)");
  const std::string percent = "[[axis]]\nparameter = 'timeout_percent'\nvalues = [30]\n";
  CHECK(with(R"("timeout")") == "");
  CHECK(with(R"("plain_timeout")", percent) == "");
  CHECK(with(R"("plain_timeout")") ==
        "9:12: experiment.policies: 'plain_timeout' needs a time-out; add an [[axis]] with parameter = "
        "\"timeout_percent\"");
  CHECK(with(R"("plain_timeout")", percent + "[[case]]\nname = 'c'\nvalues = { timeout_percent = [] }\n") ==
        "15:30: case.values.timeout_percent: 'plain_timeout' needs this time-out; give it a value");
  const std::string scheduler = "measure = \"scheduler\"\n";
  CHECK(with(R"("deferred")", scheduler) == "");
  CHECK(with(R"("eager")", scheduler) ==
        "9:12: experiment.policies: the measure scheduler takes only the batching of a policy, with shedding "
        "window and matchmaking lowest_id; 'eager' has timeout and lowest_id");
  CHECK(with(R"("deferred")", scheduler + "shedding = \"timeout\"\n") ==
        "11:12: experiment.shedding: has no effect: the measure scheduler ignores it; remove it");
}

TEST_CASE("a value of the paper belongs to a point, and a claim's bounds leave room") {
  const std::string axis = "[[axis]]\nparameter = 'slo_ms'\nvalues = [20, 30]\nquick = [25]\n";
  const auto paper = [&](const std::string& at) {
    return experiment_problems(small + axis + "[[paper]]\nvalue = 1\n" + at);
  };
  CHECK(paper("slo_ms = 30\n") == "");
  CHECK(paper("slo_ms = 25\n") == "");
  CHECK(paper("slo_ms = 40\n") ==
        "14:1: paper: matches no point of this experiment; give a case and values of it");
  const std::string own = "[[case]]\nname = 'c'\nvalues = { slo_ms = [50] }\n";
  CHECK(experiment_problems(small + axis + own + "[[paper]]\nvalue = 1\nslo_ms = 50\n") == "");
  CHECK(experiment_problems(small + axis + own + "[[paper]]\nvalue = 1\nslo_ms = 30\n")
            .starts_with("17:1: paper: matches no point"));
  CHECK(experiment_problems(small + "[[claim]]\ntext = 'x'\nat_least = 2\nat_most = 1\n") ==
        "13:11: claim.at_most: is less than at_least = 2; no value satisfies both");
}

TEST_CASE("a measure gets what it needs") {
  auto text = small;
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
