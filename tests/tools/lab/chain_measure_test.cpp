#include "tools/lab/chain_measure.hpp"

#include <doctest/doctest.h>

#include "tests/tools/lab/problems.hpp"
#include "tools/lab/measures.hpp"

using namespace troupe;
using namespace troupe::lab;

namespace {

const std::string chain_head =
    "[experiment]\ntitle = 'x'\nmeasure = 'chain'\npolicies = ['listed', 'planned']\n";

/// Target T1 has a slower interface than T2 and the source (BlitzScale, Figure 10b).
scenario two_targets() {
  scenario s;
  s.chain.emplace();
  s.chain->chunks = 256;
  s.chain->source_gbit_per_s = 200;
  s.chain->target_gbit_per_s = {100, 200};
  return s;
}

const auto hop_time = [](double x) { return doctest::Approx(x).epsilon(0.05); };

}  // namespace

TEST_CASE("chain measure: the formula gives the worked cases") {
  const auto case_1 = chain_formula(14e9, 32, {100, 100, 100});
  CHECK(case_1[0] == doctest::Approx(1.12));
  CHECK(case_1[1] == doctest::Approx(1.155));
  const auto uneven = chain_formula(10, 10, {8e-9, 2e-9, 8e-9});  // the slower interface of a hop counts
  CHECK(uneven[0] == doctest::Approx(40));
  CHECK(uneven[1] == doctest::Approx(44));
}

TEST_CASE("chain measure: hops end when the formula says, in any order and for any number of targets") {
  auto s = two_targets();
  for (const std::string policy : {"listed", "reversed"}) {
    CAPTURE(policy);
    const auto r = measure_chain(s, policy, 1);
    CHECK(r.metrics.at("off") < 0.05);
    CHECK(r.tables.at(0).rows.size() == 2);
  }
  s.chain->window = 1;  // as in the formula
  s.chain->chunks = 32;
  s.chain->target_gbit_per_s = {50, 100, 25, 100};
  const auto r = measure_chain(s, "listed", 1);
  CHECK(r.metrics.at("off") < 0.02);
  CHECK(r.metrics.at("last_s") == hop_time(4.48 + 4 * 0.14));
}

TEST_CASE("chain measure: the leader's order halves the first target's time") {
  const auto s = two_targets();
  const auto listed = measure_chain(s, "listed", 1), planned = measure_chain(s, "planned", 1);
  CHECK(listed.value == hop_time(1.12));
  CHECK(planned.value == hop_time(0.56));
  CHECK(planned.tables.at(0).rows[0][1] == 2);  // T2 is first
  CHECK(planned.metrics.at("last_s") < 1.05 * listed.metrics.at("last_s"));
  CHECK(measure_chain(s, "reversed", 1).value == hop_time(planned.value));
}

TEST_CASE("chain measure: the same seed gives the same times") {
  const auto s = two_targets();
  CHECK(measure_chain(s, "planned", 3).metrics == measure_chain(s, "planned", 3).metrics);
}

TEST_CASE("chain measure: a file gives the chain, and problems have a place") {
  const auto r = read_experiment_text(chain_head + R"([chain]
chunks = 10
[[case]]
name = "three"
chain = { target_gbit_per_s = [100, 50, 25] }
)",
                                      "e.toml");
  for (const auto& p : r.problems) FAIL(to_string(p));
  CHECK(r.spec.cases.at(0).base.chain->chunks == 10);
  CHECK(r.spec.cases.at(0).base.chain->target_gbit_per_s == std::vector<double>{100, 50, 25});
  CHECK(experiment_problems(chain_head) == "1:1: chain: is for the measure chain, which needs it");
  CHECK(experiment_problems(chain_head + "[chain]\ntarget_gbit_per_s = []\n") ==
        "6:21: chain.target_gbit_per_s: has 0 rates; give one for each of 1 to 64 targets");
  CHECK(experiment_problems(chain_head + "[chain]\nchunks = 0\n") ==
        "6:10: chain.chunks: must be an integer in 1..100000, not 0");
}
