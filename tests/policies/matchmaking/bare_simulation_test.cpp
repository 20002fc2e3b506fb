#include "tests/policies/matchmaking/bare_simulation.hpp"

#include <doctest/doctest.h>

#include <set>

#include "policies/registry/batchings.hpp"
#include "tests/policies/common/resnet50.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

/// Invariants of every run, under any policies and parameters.
void check_invariants(const bare_simulation& sim, const std::vector<batching_parameters>& models) {
  std::vector<std::set<uint64_t>> seen(models.size());
  std::vector<time_point> free_at;
  uint64_t outcomes = 0;
  for (const auto& b : sim.batches) {
    const auto& p = models[b.model];
    uint32_t rows = 0;
    for (const auto& t : b.requests) {
      rows += t.rows;
      REQUIRE(b.finish + p.response <= t.deadline);
      REQUIRE(seen[b.model].insert(t.id.value).second);
      ++outcomes;
    }
    REQUIRE(rows == b.rows);
    REQUIRE(rows >= 1);
    REQUIRE(rows <= p.max_rows);
    REQUIRE(b.exec_at >= b.granted_at + p.network(rows));
    if (b.slot >= free_at.size()) free_at.resize(b.slot + 1, long_ago);
    REQUIRE(b.exec_at >= free_at[b.slot]);
    free_at[b.slot] = b.finish;
  }
  for (const auto& d : sim.drops) {
    REQUIRE(seen[d.model].insert(d.what.request.id.value).second);
    REQUIRE(d.what.reason != drop_reason::none);
    ++outcomes;
  }
  REQUIRE(outcomes == sim.arrived());
}

/// ResNet50 on eight GPUs without a network, as in Figure 10 of the paper.
bare_simulation figure10(std::string_view batching, std::string_view shedding, double rate) {
  const auto p = resnet50(8);
  bare_simulation sim;
  sim.add_slots(8);
  sim.add_model(
      batching, shedding, p,
      open_loop({arrival_kind::poisson, rate}, p.slo, time_point{30s}, random_stream(1, "arrivals")));
  sim.run();
  return sim;
}

}  // namespace

TEST_CASE("under any load and policies: no late batch, no double booking, one outcome a request") {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    random_stream random(seed, "parameters");
    const auto pick = [&](auto names) { return names[random.below(names.size())]; };
    // Except policies that stop batches or place models: tests/tools/lab runs those.
    bare_simulation sim(pick(std::vector{"lowest_id", "earliest_free"}));
    const auto slots = 1 + static_cast<uint32_t>(random.below(12));
    sim.add_slots(slots);
    std::vector<batching_parameters> models(1 + random.below(5));
    const bool network = random.below(2) == 0;
    for (size_t i = 0; i < models.size(); ++i) {
      auto& p = models[i];
      p.latency = {duration{random.below(4000000)}, duration{1 + random.below(10000000)}};
      p.slo = p.latency(1) + duration{random.below(100000000)};
      p.max_rows = 4 + static_cast<uint32_t>(random.below(60));
      p.slots = slots;
      if (network) {
        p.network = {duration{random.below(500000)}, duration{random.below(100000)}};
        p.response = duration{random.below(2000000)};
        p.margin = duration{random.below(200000)};
      }
      const uint32_t largest_request = random.below(2) == 0 ? 1 : 4;
      const double capacity = slots * 8.0 / to_seconds(p.latency(8)) / static_cast<double>(models.size());
      const double rate = std::min(5000.0, capacity * (0.1 + 1.5 * random.uniform()) / largest_request);
      const arrival_spec arrivals{pick(std::vector{arrival_kind::poisson, arrival_kind::gamma}), rate,
                                  0.3 + 3 * random.uniform()};
      // Some requests have deadlines of their own, so that later ones overtake earlier ones.
      auto plain =
          open_loop(arrivals, p.slo, time_point{2s}, random_stream(seed, "arrivals", i), largest_request);
      sim.add_model(pick(batchings().names()), pick(shedding_names()), p,
                    [plain, random = random_stream(seed, "deadlines", i)]() mutable {
                      auto next = plain();
                      if (next && random.below(8) == 0) next->deadline -= duration{random.below(20000000)};
                      return next;
                    });
    }
    sim.run();
    check_invariants(sim, models);
  }
}

TEST_CASE(
    "deferred batching with window shedding serves ResNet50 at 5150 a second, eager batching does not") {
  const auto deferred = figure10("deferred", "window", 5150);
  CHECK(deferred.arrived() > 150000);
  CHECK(deferred.bad_rate() < 0.01);
  CHECK(figure10("eager", "timeout", 5150).bad_rate() > 0.1);
  CHECK(figure10("deferred", "timeout", 5150).bad_rate() > deferred.bad_rate());
}

TEST_CASE("beyond what the staggered schedule allows, too much is dropped under every policy") {
  // (1 + 1/8) · ℓ(16) ≤ 25 ms; 8 · 16 / ℓ(16) = 5839 requests a second.
  for (const auto batching : batchings().names())
    for (const auto shedding : shedding_names()) CHECK(figure10(batching, shedding, 6000).bad_rate() > 0.02);
}

TEST_CASE("at low load deferred batching needs fewer GPUs than eager, and leaves the high ids idle") {
  const auto busy_of = [](const bare_simulation& sim) {
    std::vector<duration> busy(8);
    for (const auto& b : sim.batches) busy[b.slot] += b.finish - b.exec_at;
    return busy;
  };
  const auto deferred = busy_of(figure10("deferred", "window", 1000));
  const auto eager = busy_of(figure10("eager", "timeout", 1000));
  CHECK(deferred[0] > 15s);
  CHECK(deferred[7] == 0s);
  CHECK(eager[7] > 1s);
}
