#include "tools/sim/scaling_check.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace troupe;
using namespace troupe::sim;

namespace {

cluster_spec checked_cluster() {
  cluster_spec c;
  c.llms.resize(1);
  c.llms[0].name = "m";
  c.llms[0].min_instances = 1;
  c.llms[0].max_instances = 8;
  c.llms[0].loop.scale_down = 2s;
  return c;
}

/// With a demand of two instances, to be loaded by 0.5 to 0.7.
scaling_decision decision_of(uint32_t from, uint32_t to, duration age = 0s) {
  scaling_decision d;
  d.model = "m";
  d.age = age;
  d.from = from;
  d.to = to;
  d.resources = {{"prefill", 2000, 1000, 0.5, 0.7, 0, 0}, {"kv", 10, 0, 0.75, 0.95, 0, 0}};
  return d;
}

std::string problem_of(std::vector<scaling_decision> all) { return problem_with(all, checked_cluster()); }

}  // namespace

TEST_CASE("scaling check: decisions that follow from their numbers are right") {
  CHECK(problem_of({}) == "");
  CHECK(problem_of({decision_of(1, 4)}) == "");
  CHECK(problem_of({decision_of(2, 3)}) == "");
  CHECK(problem_of({decision_of(5, 4), decision_of(6, 5, 2s)}) == "");
}

TEST_CASE("scaling check: a decision that its numbers do not support is a violation") {
  CHECK(problem_of({decision_of(1, 5)}) == "model m from 1 to 5 instances: more than the load needs");
  CHECK(problem_of({decision_of(3, 4)}) ==
        "model m from 3 to 4 instances: those that are ordered carry the load");
  CHECK(problem_of({decision_of(4, 3)}) == "model m from 4 to 3 instances: the load needs them");
  CHECK(problem_of({decision_of(8, 6)}) == "model m from 8 to 6 instances: not one fewer");
  CHECK(problem_of({decision_of(1, 9)}) == "model m from 1 to 9 instances: beyond the limits of the model");
  CHECK(problem_of({decision_of(1, 0)}) == "model m from 1 to 0 instances: beyond the limits of the model");
  auto other = decision_of(1, 4);
  other.model = "n";
  CHECK(problem_of({other}) == "there is no model n");
}

TEST_CASE("scaling check: the load was low for long enough before an instance goes") {
  CHECK(problem_of({decision_of(5, 4, 1s), decision_of(6, 5, 2500ms)}) ==
        "model m from 5 to 4 instances: only 1.500 s after the decision before");
  CHECK(problem_of({decision_of(1, 4, 1s), decision_of(2, 1, 2s)}) != "");  // the load needed two
}
