#include "tools/lab/measure_policies.hpp"

#include <doctest/doctest.h>

#include "tests/tools/lab/problems.hpp"

using namespace troupe;
using namespace troupe::lab;

TEST_CASE("an unknown policy is reported with its place") {
  auto text = plain_experiment;
  text.replace(text.find("eager"), 5, "eagre");
  CHECK(experiment_problems(text).starts_with(
      "9:12: experiment.policies: unknown policy 'eagre' (did you mean 'eager'?); there are "));
}

TEST_CASE("policies must be distinct, and supported by the measure") {
  const auto with = [](const std::string& policies, const std::string& rest = "") {
    auto text = plain_experiment;
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

TEST_CASE("a measure runs its own policies only") {
  struct run {
    measure what;
    const char* own;
  };
  constexpr run runs[]{{measure::load, "deferred"}, {measure::partition, "search"},
                       {measure::llm, "mixed"},     {measure::latency, "sgmv"},
                       {measure::scaling, "blitz"}, {measure::chain, "planned"}};
  for (const auto& r : runs)
    for (const auto& other : runs) {
      CAPTURE(r.own);
      CAPTURE(other.own);
      const auto why = unusable_policy(r.what, other.own);
      CHECK(why.empty() == (r.what == other.what));
      CHECK((why.empty() || why.starts_with("unknown ")));
    }
}
