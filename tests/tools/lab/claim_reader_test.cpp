#include "tools/lab/claim_reader.hpp"

#include <doctest/doctest.h>

#include "tests/tools/lab/problems.hpp"

using namespace troupe;
using namespace troupe::lab;

TEST_CASE("problems of claims are reported with their places") {
  CHECK(experiment_problems(plain_experiment +
                            "[[claim]]\ntext = 'x'\nof = { policy = 'nexus' }\nat_least = 1\n") ==
        "12:17: claim.of.policy: must be one of \"deferred\", \"eager\", not \"nexus\"");
  CHECK(experiment_problems(plain_experiment + "[[claim]]\ntext = 'x'\n") ==
        "10:1: claim.at_least: is missing; give at_least, at_most or both");
  CHECK(experiment_problems(plain_experiment + "[[claim]]\ntext = 'x'\nat_least = 1\nreproduced = false\n") ==
        "10:1: claim.because: is missing; give the reason why this claim is not reproduced");
  CHECK(
      experiment_problems(plain_experiment + "[[claim]]\ntext = 'x'\nat_least = 1\nof = { slo_ms = 3 }\n") ==
      "13:8: claim.of: unknown key 'slo_ms'; known: policy, case");
}

TEST_CASE("a value of the paper belongs to a point, and a claim's bounds leave room") {
  const std::string axis = "[[axis]]\nparameter = 'slo_ms'\nvalues = [20, 30]\nquick = [25]\n";
  const auto paper = [&](const std::string& at) {
    return experiment_problems(plain_experiment + axis + "[[paper]]\nvalue = 1\n" + at);
  };
  CHECK(paper("slo_ms = 30\n") == "");
  CHECK(paper("slo_ms = 25\n") == "");
  CHECK(paper("slo_ms = 40\n") ==
        "14:1: paper: matches no point of this experiment; give a case and values of it");
  const std::string own = "[[case]]\nname = 'c'\nvalues = { slo_ms = [50] }\n";
  CHECK(experiment_problems(plain_experiment + axis + own + "[[paper]]\nvalue = 1\nslo_ms = 50\n") == "");
  CHECK(experiment_problems(plain_experiment + axis + own + "[[paper]]\nvalue = 1\nslo_ms = 30\n")
            .starts_with("17:1: paper: matches no point"));
  CHECK(experiment_problems(plain_experiment + "[[claim]]\ntext = 'x'\nat_least = 2\nat_most = 1\n") ==
        "13:11: claim.at_most: is less than at_least = 2; no value satisfies both");
}
