#include "tools/lab/axis_reader.hpp"

#include <doctest/doctest.h>

#include "tests/tools/lab/problems.hpp"

using namespace troupe;
using namespace troupe::lab;

namespace {

/// The problems of an axis.
std::string axis_problems(const std::string& keys, measure what = measure::load,
                          std::vector<std::string> policies = {"deferred"}) {
  reader in{"[[axis]]\n" + keys, "e.toml"};
  read_axes(in.root(), what, policies);
  return listed(in.finish());
}

bool useless(const std::string& parameter, measure what, std::vector<std::string> policies = {"deferred"}) {
  const auto said = axis_problems("parameter = '" + parameter + "'\nvalues = [1]\n", what, policies);
  CHECK((said.empty() || said.starts_with("2:13: axis.parameter: has no effect: ")));
  return !said.empty();
}

}  // namespace

TEST_CASE("an unknown parameter is one problem, with all known parameters") {
  CHECK(axis_problems("parameter = 'slo'\nvalues = 'x'\nquick = [1, 1]\n") ==
        "2:13: axis.parameter: must be one of \"gpus\", \"gpus_per_model\", \"copies\", \"slo_ms\", "
        "\"alpha_ms\", \"beta_ms\", \"zipf\", \"gamma_shape\", \"network_us\", \"data_us\", \"rate_rps\", "
        "\"cores\", \"domains\", \"batch\", \"rank\", \"context\", \"timeout_percent\", not \"slo\"; did you "
        "mean 'slo_ms'?");
  CHECK(axis_problems("values = [1]\n")
            .starts_with("1:1: axis.parameter: is missing; it must be one of \"gpus\""));
}

TEST_CASE("values must be distinct numbers in their range, at least one") {
  const std::string slo = "parameter = 'slo_ms'\n";
  CHECK(axis_problems(slo + "values = [20, 30]\nquick = [20]\n") == "");
  CHECK(axis_problems(slo + "values = [20, 'a', -1]\n") ==
        "3:15: axis.values: holds \"a\"; it must be an array of milliseconds in 0.001..3600000\n"
        "3:20: axis.values: holds -1; it must be an array of milliseconds in 0.001..3600000");
  CHECK(axis_problems(slo + "values = []\n") == "3:10: axis.values: is empty; give it values, or remove it");
  CHECK(axis_problems(slo + "values = [1]\nquick = []\n") ==
        "4:9: axis.quick: is empty; give it values, or remove it");
  CHECK(axis_problems(slo + "values = [20, 30, 20]\n") == "3:10: axis.values: holds 20 twice; remove one");
  CHECK(axis_problems(slo) == "1:1: axis.values: is missing; it must be an array of numbers");
}

TEST_CASE("a parameter that the measure ignores cannot vary") {
  for (const auto* parameter : {"cores", "domains"}) {
    CHECK_FALSE(useless(parameter, measure::scheduler));
    for (const auto m : {measure::goodput, measure::load, measure::fewest_gpus, measure::timeline,
                         measure::trace, measure::partition})
      CHECK(useless(parameter, m));
  }
  CHECK(useless("network_us", measure::scheduler));
  CHECK(useless("rate_rps", measure::goodput));
  CHECK_FALSE(useless("rate_rps", measure::load));
  CHECK(useless("gpus", measure::fewest_gpus));
  CHECK_FALSE(useless("gpus", measure::goodput));
  CHECK(useless("gpus", measure::partition));
  CHECK(useless("timeout_percent", measure::goodput));
  CHECK_FALSE(useless("timeout_percent", measure::goodput, {"deferred", "plain_timeout"}));
}
