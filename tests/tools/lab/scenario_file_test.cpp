#include "tools/lab/scenario_file.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>

#include "tests/tools/lab/problems.hpp"

using namespace troupe;
using namespace troupe::lab;

namespace {

constexpr auto one_model = R"(
[[model]]
name = "m"
alpha_ms = 1
beta_ms = 5
slo_ms = 25
)";

scenario good(const std::string& text) {
  const auto r = read_scenario_text(text, "s.toml");
  for (const auto& p : r.problems) FAIL_CHECK(to_string(p));
  return r.spec;
}

std::string scenario_problems(const std::string& text) {
  return listed(read_scenario_text(text, "s.toml").problems);
}

}  // namespace

TEST_CASE("a scenario names models, GPUs, arrivals and network, the rest has defaults") {
  const auto s = good(std::string(R"(gpus = 8
arrivals = { gamma_shape = 0.25 }
popularity = { zipf = 0.9 }
network = { control_us = 30, data_us = 2, response_us = 100 }
search = { requests = 5000, seeds = 3, criterion = "average", max_bad = 0.02 }
)") + one_model + "copies = 3\n");
  CHECK(s.gpu_count() == 8);
  CHECK(s.arrivals == arrival_kind::gamma);
  CHECK(s.gamma_cv == doctest::Approx(2));
  CHECK(s.network == network_delay{30us, 2us});
  CHECK(s.response == 100us);
  CHECK(s.search.requests == 5000);
  CHECK(s.search.seeds == 3);
  CHECK(s.search.whose == criterion::average);
  CHECK(s.search.max_bad == 0.02);
  const auto models = served_models(s);
  REQUIRE(models.size() == 3);
  CHECK(models[0].name == "m-1");
  CHECK(models[2].share == doctest::Approx(std::pow(3, -0.9)));
  CHECK(models[2].slo == 25ms);
  const auto plain = good(one_model);
  CHECK(plain.gpu_count() == 1);
  CHECK(plain.arrivals == arrival_kind::poisson);
  CHECK(plain.search.whose == criterion::worst);
  CHECK(served_models(plain)[0].name == "m");
}

TEST_CASE("an SLO can follow from the latency") {
  const auto s = good(R"([[model]]
name = "m"
alpha_ms = 1
beta_ms = 5
slo_of = { times = 2, rows = 8 }
)");
  CHECK(served_models(s)[0].slo == 26ms);
}

TEST_CASE("GPUs can follow from the models") {
  CHECK(good("gpus_per_model = 1.5\n" + std::string(one_model) + "copies = 5\n").gpu_count() == 8);
}

TEST_CASE("a run is long enough for its requests after the warm-up") {
  auto s = good("search = { requests = 1000, warm_up_s = 3 }\n" + std::string(one_model));
  const auto t = trial_of(s, {}, 500, 7);
  CHECK(t.warm_up == 3s);
  CHECK(t.length == 5s);
  CHECK(t.rate == 500);
  CHECK(t.seed == 7);
}

TEST_CASE("no policy exceeds the bound on the rate") {
  // 20 rows in 25 ms on 8 GPUs
  CHECK(rate_bound(good("gpus = 8\n" + std::string(one_model))) == doctest::Approx(8 * 20 / 0.025));
}

TEST_CASE("every problem of a scenario file is reported with its place") {
  CHECK(scenario_problems("gpus = 0\n" + std::string(one_model)) ==
        "1:8: gpus: must be an integer in 1..1048576, not 0");
  CHECK(scenario_problems("gpuz = 1\n" + std::string(one_model)) ==
        "1:1: unknown key 'gpuz'; did you mean 'gpus'?");
  CHECK(scenario_problems("gpus = 4\n") ==
        "1:1: model: is missing; write one [[model]] for each kind of model");
  CHECK(scenario_problems(std::string(one_model) + "slo_of = { times = 2, rows = 8 }\n") ==
        "6:10: model.slo_ms: slo_of gives it; remove one of the two");
  CHECK(scenario_problems("[[model]]\nname = 'x'\nzoo = 'none.csv'\n") ==
        "2:8: model.name: belongs to a single model, not to a zoo; remove it or zoo\n"
        "3:7: model.zoo: none.csv: cannot be read: No such file or directory");
  CHECK(scenario_problems("arrivals = 'bursty'\n" + std::string(one_model)) ==
        "1:12: arrivals: must be \"poisson\", \"constant\" or { gamma_shape }, not \"bursty\"");
  CHECK(scenario_problems("gpus = [\n") != "");
  CHECK(scenario_problems("[experiment]\ntitle = 'x'\n[[case]]\nname = 'c'\n") ==
        "1:1: experiment: this is an experiment; run it with troupe experiment run s.toml");
}

TEST_CASE("a changing load has no silent model") {
  CHECK(scenario_problems(
            std::string("silence = { at_ms = 9, for_ms = 2 }\nchanging_load = { length_s = 20 }\n") +
            one_model) ==
        "1:11: silence: a run has silence or changing_load, not both; remove one of the two");
}

TEST_CASE("an infeasible SLO is reported with its place") {
  CHECK(
      scenario_problems("[[model]]\nname = 'm'\nalpha_ms = 1\nbeta_ms = 5\nslo_ms = 5.5\n") ==
      "5:10: model.slo_ms: model 'm' takes 6 ms for a single request, its SLO is 5.5 ms: no request can ever "
      "meet it; raise the SLO");
  CHECK(
      scenario_problems("network = { control_us = 20000 }\n" + std::string(one_model)) ==
      "7:10: model.slo_ms: model 'm' takes 26 ms for a single request, its SLO is 25 ms: no request can ever "
      "meet it; raise the SLO");
}

TEST_CASE("the scenarios of Table 2 are as the paper prints them") {
  const std::filesystem::path folder = TROUPE_EXAMPLES;
  const auto r = read_scenario(folder / "experiments" / "table2-inceptionresnetv2.toml");
  for (const auto& p : r.problems) FAIL_CHECK(to_string(p));
  CHECK(r.spec.gpu_count() == 8);
  CHECK(r.spec.network == network_delay{});
  CHECK(r.spec.response == 0s);
  REQUIRE(r.spec.models.size() == 1);
  CHECK(r.spec.models[0].latency == latency_model{5090us, 18368us});
  CHECK(r.spec.models[0].slo == 70ms);
}
