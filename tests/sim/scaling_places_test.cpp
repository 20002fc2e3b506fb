// Two models want the last place of a cluster: one has it, the other gets one answer, and the place when it
// becomes free.
#include <functional>

#include "tests/sim/scaling_cluster.hpp"

using namespace troupe;
using namespace troupe::sim;

namespace {

constexpr llm_id first_model{0}, other_model{1};

workload_spec quiet_workload(const cluster_spec& c, duration length) {
  auto w = scaling_workload(c, 0);
  w.length = length;
  for (auto& load : w.llms) {
    load.rate_rps = 15;
    load.arrivals = arrival_kind::poisson;
    load.max_tokens = 10;
    load.hang_up = 0;
  }
  return w;
}
uint32_t serving(const world_result& r, const char* model) {
  return static_cast<uint32_t>(std::ranges::count_if(
      r.pool.instances, [&](const instance_state& i) { return i.model == model && i.stage == "serving"; }));
}

/// Runs 20 seeds.
void for_seeds(const cluster_spec& c, const workload_spec& w,
               const std::function<void(const world_result&)>& check) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const auto r = run(c, w, {.seed = seed});
    check_sequences(r, seed);
    CAPTURE(seed);
    check(r);
  }
}

/// The first model has all three places.
cluster_spec places_taken() {
  auto c = competing_models();
  c.llms[0].instances = 3;
  c.llms[1].instances = 0;
  return c;
}

}  // namespace

TEST_CASE("scaling: of two orders for the last place, one is carried out, and one refused") {
  auto c = competing_models();
  for (auto& m : c.llms) m.instances = 1;
  auto w = quiet_workload(c, 2s);
  w.scales = {{500ms, first_model, 2}, {500ms, other_model, 2}};
  SUBCASE("the other one keeps what it has") {
    for_seeds(c, w, [](const world_result& r) {
      REQUIRE(r.scale_answers.size() == 2);
      CHECK(r.scale_answers[0].ok);
      CHECK_FALSE(r.scale_answers[1].ok);
      CHECK(r.scale_answers[1].body.starts_with("scale_model: only 1 of the 3 places of 'other' can serve"));
      CHECK(serving(r, "llm") == 2);
      CHECK(serving(r, "other") == 1);
    });
  }
  SUBCASE("it gets the place by asking again when it is free") {
    w.scales.push_back({1s, first_model, 1});
    w.scales.push_back({1200ms, other_model, 2});
    for_seeds(c, w, [](const world_result& r) {
      REQUIRE(r.scale_answers.size() == 4);
      CHECK(r.scale_answers[3].ok);
      CHECK(serving(r, "llm") == 1);
      CHECK(serving(r, "other") == 2);
    });
  }
}

TEST_CASE("scaling: requests of a model without a place wait for one") {
  const auto c = places_taken();
  auto w = quiet_workload(c, 2s);
  w.scales = {{1s, first_model, 2}};
  for_seeds(c, w, [](const world_result& r) {
    CHECK(r.llms[1].of(client_outcome::finished) == r.llms[1].offered);
    CHECK(serving(r, "llm") == 2);
    CHECK(serving(r, "other") == 1);
  });
}

TEST_CASE("scaling: requests that wait too long are refused, and the model still gets the place") {
  auto c = places_taken();
  c.llms[1].cold_start = 500ms;
  auto w = quiet_workload(c, 3s);
  w.scales = {{2s, first_model, 2}};
  for_seeds(c, w, [](const world_result& r) {
    const auto &other = r.llms[1], &first = r.llms[0];
    CHECK(other.of(client_outcome::dropped) > other.offered / 5);
    CHECK(other.of(client_outcome::finished) > other.offered / 5);
    CHECK(other.of(client_outcome::dropped) + other.of(client_outcome::finished) == other.offered);
    CHECK(first.of(client_outcome::finished) == first.offered);
    CHECK(serving(r, "other") == 1);
  });
}
