#include "tools/lab/partition_study.hpp"

#include <doctest/doctest.h>

#include <stdexcept>

using namespace troupe;
using namespace troupe::lab;

namespace {

const std::vector<zoo_model>& zoo() {
  static const auto read = read_zoo(TROUPE_EXAMPLES "/profiles/parameters.csv");
  REQUIRE_MESSAGE(read.problem.empty(), read.problem);
  return read.models;
}

partition_study_options quick() {
  partition_study_options o;
  o.configurations = 3;
  o.steps = 2'000'000;
  o.random_tries = 5'000;
  return o;
}

}  // namespace

TEST_CASE("the zoo has the paper's 37 models") {
  CHECK(zoo().size() == 37);
  CHECK(zoo().front().name == "BERT");
  CHECK(zoo().front().parameter_bytes == doctest::Approx(440e6));
}

TEST_CASE("Figure 16: the search is far more balanced than random search, in rate and in memory") {
  const auto study = study_partitions(zoo(), quick());
  for (const auto of : {imbalance::rate, imbalance::memory}) {
    const auto ours = summary(imbalances(study, method::search, of));
    const auto random = summary(imbalances(study, method::random, of));
    CHECK(ours.max < 0.01);
    CHECK(random.min > 30 * ours.max);
  }
}

TEST_CASE("a study repeats, and its configurations differ") {
  auto o = quick();
  o.steps = 20'000;
  o.random_tries = 100;
  const auto one = study_partitions(zoo(), o), same = study_partitions(zoo(), o);
  for (size_t i = 0; i < one.size(); ++i) CHECK(one[i].searched.assignment == same[i].searched.assignment);
  CHECK(one[0].searched.quality.objective != one[1].searched.quality.objective);
  const auto csv = to_csv(one);
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 1 + 2 * 3);
}

TEST_CASE("random search may have a time instead of tries") {
  auto o = quick();
  o.random_tries = 10;
  o.random_seconds = 0.2;
  const auto timed = partition_once(zoo(), o, 0, method::random);
  CHECK(timed.found.steps > 10);
  CHECK(timed.seconds >= 0.2);
  o.random_seconds = 0;
  o.random_tries = timed.found.steps;  // the machine's own number of steps
  CHECK(timed.found.quality.objective == partition_once(zoo(), o, 0, method::random).found.quality.objective);
}

TEST_CASE("an impossible study is refused in one sentence") {
  auto o = quick();
  o.device_bytes = 1e9;
  try {
    study_partitions(zoo(), o);
    FAIL("no exception");
  } catch (const std::runtime_error& e) {
    CHECK(std::string(e.what()).find("configuration 0: model 'VGG1") == 0);
  }
}

TEST_CASE("a summary has minimum, median and maximum") {
  const auto odd = summary({3, 1, 2});
  CHECK(odd.min == 1);
  CHECK(odd.median == 2);
  CHECK(odd.max == 3);
  CHECK(summary({4, 1, 2, 3}).median == 2.5);
}

TEST_CASE("problems of a zoo file have a line") {
  CHECK(read_zoo_text("", "z.csv").problem == "z.csv:1: the first line must be 'model,million_parameters'");
  CHECK(read_zoo_text("model,million_parameters\na,1\nb,x\n", "z.csv").problem ==
        "z.csv:3: must be a model's name, a comma and millions of parameters");
  CHECK(read_zoo_text("model,million_parameters\na,-1\n", "z.csv").problem.find("z.csv:2:") == 0);
  CHECK(read_zoo_text("model,million_parameters\n", "z.csv").problem == "z.csv:1: has no model");
  CHECK(read_zoo("/nowhere/z.csv").problem.find("/nowhere/z.csv") == 0);
}
