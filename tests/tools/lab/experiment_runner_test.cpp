#include "tools/lab/experiment_runner.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/tools/lab/fake_engine.hpp"
#include "tools/lab/experiment_file.hpp"
#include "tools/lab/results_file.hpp"

using namespace troupe;
using namespace troupe::lab;

namespace {

const std::string small_experiment = R"(gpus = 4
search = { requests = 20000, seeds = 2 }
[[model]]
name = "m"
alpha_ms = 1
beta_ms = 5
slo_ms = 25
[experiment]
title = "small"
policies = ["deferred", "eager"]
relative_to = "deferred"
)";

experiment read(const std::string& text) {
  const auto r = read_experiment_text(text, "e.toml");
  for (const auto& p : r.problems) FAIL(to_string(p));
  return r.spec;
}

results run(const experiment& e, run_options options = {}) {
  options.run = &run_fake;
  options.threads = 2;
  return run_experiment(e, options);
}

const std::string gpus_axis = "[[axis]]\nparameter = 'gpus'\nvalues = [2, 4, 8]\nquick = [2]\n";

}  // namespace

TEST_CASE("an experiment has a point for every value and policy") {
  const auto r = run(read(small_experiment + gpus_axis));
  REQUIRE(r.points.size() == 6);
  CHECK(r.points[0].policy == "deferred");
  CHECK(r.points[0].at.at(0) == 2);
  CHECK(r.points[5].policy == "eager");
  CHECK(r.points[5].at.at(0) == 8);
  CHECK(r.points[5].metrics.at("goodput_rps") == doctest::Approx(8 * 80 / 0.99).epsilon(0.005));
  CHECK(r.points[5].metrics.at("relative") == doctest::Approx(0.8).epsilon(0.005));
  CHECK(r.points[5].metrics.at("median_batch") == 4);
  CHECK(r.points[0].metrics.at("ci95") > 0);
}

TEST_CASE("a quick run takes the quick values and one seed") {
  const auto r = run(read(small_experiment + gpus_axis), {.quick = true});
  REQUIRE(r.points.size() == 2);
  CHECK(std::isnan(r.points[0].metrics.at("ci95")));  // undefined with one seed
}

TEST_CASE("a sample is the same again, and full runs take all") {
  const auto e = read(small_experiment + "sample = 4\n" + gpus_axis +
                      "[[axis]]\nparameter = 'beta_ms'\nvalues = [1, 2, 3, 4, 5, 6]\n");
  const auto a = run(e), b = run(e);
  CHECK(points_csv(a) == points_csv(b));
  CHECK(a.points.size() == 8);
  CHECK(run(e, {.full = true}).points.size() == 36);
}

TEST_CASE("a case may leave an axis out, and the fewest GPUs are found") {
  const auto e = read(small_experiment + R"(measure = "fewest_gpus"
[[axis]]
parameter = "rate_rps"
values = [1000, 2000]
[[case]]
name = "all"
[[case]]
name = "one"
rate_rps = 4000
values = { rate_rps = [] }
)");
  const auto r = run(e);
  REQUIRE(r.points.size() == 6);
  CHECK(r.points[0].metrics.at("gpus") == 10);  // 1000 requests, 1 % of them may be lost
  CHECK(r.points[3].metrics.at("gpus") == 25);  // eager, 2000
  CHECK_FALSE(r.points[4].at.at(0).has_value());
  CHECK(r.points[4].metrics.at("gpus") == doctest::Approx(39.5).epsilon(0.02));
}

TEST_CASE("the fewest GPUs are found even if large batches alone would need fewer") {
  auto e = read(R"(rate_rps = 5
search = { requests = 1000, seeds = 1 }
[[model]]
name = "tight"
alpha_ms = 1
beta_ms = 5
slo_ms = 6.1
[experiment]
title = "one request at a time"
measure = "fewest_gpus"
)");
  const auto r = run_experiment(e, {.run = &run_direct});
  CHECK(r.points.at(0).metrics.at("gpus") == 2);  // one is taken when 3 % of the requests come
}

TEST_CASE("an unserved point is in no claim, ratio, CSV or JSON") {
  const auto e = read(small_experiment + R"(measure = "fewest_gpus"
[[axis]]
parameter = "rate_rps"
values = [1000]
[[claim]]
text = "many"
of = { policy = "deferred" }
at_least = 1
[[claim]]
text = "more than the other"
of = { policy = "deferred" }
over = { policy = "eager" }
at_least = 1
[[claim]]
text = "less than the other"
of = { policy = "eager" }
over = { policy = "deferred" }
at_most = 1
)");
  const engine deferred_never = [](const trial& t, trial_watch* watch) {
    auto r = run_fake(t, watch);
    if (t.how.batching == "deferred")
      for (auto& m : r.models) m.good = 0;
    return r;
  };
  const auto r = run_experiment(e, {.run = deferred_never, .threads = 2});
  REQUIRE(r.points.size() == 2);
  CHECK(std::isinf(r.points[0].metrics.at("gpus")));
  CHECK(r.points[1].metrics.at("gpus") == 13);
  for (const auto& p : r.points) CHECK_FALSE(p.metrics.contains("relative"));
  for (const auto& c : r.claims) {
    CAPTURE(c.what.text);
    CHECK(c.points == 1);
    CHECK_FALSE(c.holds);
    CHECK(c.exceptions.at(0).ends_with(": endless"));
  }
  CHECK(points_csv(r).find("inf") == std::string::npos);
  CHECK(points_csv(r).find("nan") == std::string::npos);
  CHECK(to_json(r).find("\"gpus\":null") != std::string::npos);
  CHECK(points_csv(results_of_json(to_json(r), e)) == points_csv(r));
}

TEST_CASE("claims compare points that differ in the named parameters") {
  const auto e = read(small_experiment + gpus_axis + R"([[claim]]
text = "a quarter more"
of = { policy = "deferred" }
over = { policy = "eager" }
at_least = 1.2
at_most = 1.3
[[claim]]
text = "half more"
of = { policy = "deferred" }
over = { policy = "eager" }
at_least = 1.5
quick = false
[[claim]]
text = "four times the GPUs"
of = { gpus = 8 }
over = { gpus = 2 }
at_least = 3.9
at_most = 4.1
[[claim]]
text = "many"
of = { policy = "deferred" }
at_least = 300
points = 0.6
[[paper]]
policy = "eager"
gpus = 2
value = 160
)");
  const auto r = run(e);
  REQUIRE(r.claims.size() == 4);
  CHECK(r.claims[0].points == 3);
  CHECK(r.claims[0].holds);
  CHECK(r.claims[0].median == doctest::Approx(1.25).epsilon(0.01));
  CHECK_FALSE(r.claims[1].holds);
  CHECK(r.claims[2].points == 2);
  CHECK(r.claims[2].holds);
  CHECK(r.claims[3].kept == doctest::Approx(2.0 / 3));
  CHECK(r.claims[3].holds);
  REQUIRE(r.claims[3].exceptions.size() == 1);
  CHECK(r.claims[3].exceptions[0].starts_with("gpus 2, deferred: 20"));
  CHECK_FALSE(r.all_claims_hold());
  CHECK(r.points[1].paper.at("goodput_rps") == 160);

  const auto quick = run(e, {.quick = true});
  CHECK_FALSE(quick.claims[1].checked);
  CHECK_FALSE(quick.claims[2].holds);  // about no point
}

TEST_CASE("a claim marked as not reproduced must not hold, and must match points") {
  const auto told = [](const std::string& rest) {
    const auto e =
        read(small_experiment + gpus_axis + "[[claim]]\ntext = 'half more'\nof = { policy = 'deferred' }\n" +
             "over = { policy = 'eager' }\n" + rest);
    const auto r = run(e);
    return std::pair{r.all_claims_hold(), r.claims.at(0).holds};
  };
  const std::string not_ours = "reproduced = false\nbecause = 'it is a formula'\n";
  CHECK(told("at_least = 1.5\n") == std::pair{false, false});
  CHECK(told("at_least = 1.5\n" + not_ours) == std::pair{true, false});
  CHECK(told("at_least = 1.2\n" + not_ours) == std::pair{false, true});
  const auto e = read(small_experiment + gpus_axis +
                      "[[claim]]\ntext = 'x'\nof = { gpus = 4 }\nat_least = 1e9\n" + not_ours);
  CHECK(run(e).all_claims_hold());
  CHECK_FALSE(run(e, {.quick = true}).all_claims_hold());  // about no point
}

TEST_CASE("results read back from their JSON") {
  const auto e = read(small_experiment + "keeps = 'queueing'\nsays = 'much'\ndiffers = 'little'\n" +
                      gpus_axis + "[[paper]]\npolicy = 'eager'\nvalue = 160\n");
  const auto r = run(e);
  const auto again = results_of_json(to_json(r), e);
  CHECK(to_json(r).find("\"says\":\"much\",\"differs\":\"little\"") != std::string::npos);
  CHECK(points_csv(again) == points_csv(r));
  CHECK(tables_csv(again) == tables_csv(r));
  CHECK(
      tables_csv(r).starts_with("case,gpus,policy,table,queueing_ms,requests_up_to\n,2,deferred,queueing,"));
  CHECK(points_csv(r).starts_with("case,gpus,policy,bad_rate,ci95,goodput_rps,paper_goodput_rps,"));
  CHECK_THROWS_WITH(results_of_json("{", e), "is not JSON");
  CHECK_THROWS_WITH(results_of_json(to_json(r), read(small_experiment)),
                    "belongs to an experiment with other axes; run it again");
  CHECK_THROWS(results_of_json("{\"axes\": [\"gpus\"]}", e));
}
