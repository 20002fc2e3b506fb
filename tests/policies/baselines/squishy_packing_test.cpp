#include "policies/baselines/squishy_packing.hpp"

#include <doctest/doctest.h>

#include "policies/common/random.hpp"
#include "tests/policies/common/resnet50.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

const packing_session resnet50_session{resnet50_latency, 25ms, 1};

/// Guarantees of a Nexus plan: in every duty cycle each model of a slot runs once, and no request waits
/// longer than a cycle and a batch. Rates that fill a slot alone run in cycles of one batch.
void check_plan(const squishy_plan& plan, const std::vector<packing_session>& sessions) {
  for (const auto& slot : plan) {
    double busy = 0, cycle = 1e9;
    for (const auto& s : slot) {
      const auto takes = to_seconds(sessions[s.model].latency(s.batch));
      busy += takes;
      cycle = std::min(cycle, s.batch / s.rate);
    }
    for (const auto& s : slot) {
      CHECK(busy <= std::max(cycle, busy / static_cast<double>(slot.size())) * 1.0001 + 1e-9);
      if (s.batch == 1) continue;  // may be rarer than its cycle
      CHECK(to_seconds(sessions[s.model].latency(s.batch)) + busy <=
            to_seconds(sessions[s.model].slo) + 1e-9);
    }
  }
}

}  // namespace

TEST_CASE("one model alone gets every slot, in batches of which two meet the SLO") {
  const auto plan = squishy_packing({resnet50_session}, 8);
  REQUIRE(plan.size() == 8);
  double rate = 0;
  for (const auto& slot : plan) {
    REQUIRE(slot.size() == 1);
    CHECK(slot[0].batch <= 7);  // 2 ℓ(7) = 24.9 ms
    rate += slot[0].rate;
  }
  CHECK(rate == doctest::Approx(4501).epsilon(0.01));  // Table 2 of the Symphony paper, "no coordination"
}

TEST_CASE("rates count in proportion only") {
  auto once = std::vector{resnet50_session, resnet50_session};
  once[1].rate = 3;
  auto thousand = once;
  for (auto& s : thousand) s.rate *= 1000;
  const auto a = squishy_packing(once, 4), b = squishy_packing(thousand, 4);
  for (size_t i = 0; i < 4; ++i) {
    REQUIRE(a[i].size() == b[i].size());
    for (size_t k = 0; k < a[i].size(); ++k) {
      CHECK(a[i][k].model == b[i][k].model);
      CHECK(a[i][k].rate == doctest::Approx(b[i][k].rate).epsilon(0.001));
    }
  }
}

TEST_CASE("many small models share slots, every one gets its part") {
  random_stream random(1, "packing");
  std::vector<packing_session> sessions;
  for (int i = 0; i < 20; ++i) {
    const latency_model l{duration{200'000 + random.below(2'000'000)},
                          duration{1'000'000 + random.below(9'000'000)}};
    sessions.push_back({l, 3 * l(4), 0.1 + random.uniform()});
  }
  const auto plan = squishy_packing(sessions, 12);
  check_plan(plan, sessions);
  std::vector<double> rates(sessions.size());
  size_t shared = 0;
  for (const auto& slot : plan) {
    shared += slot.size() > 1;
    for (const auto& s : slot) rates[s.model] += s.rate;
  }
  CHECK(shared > 0);
  for (size_t i = 0; i < rates.size(); ++i)
    CHECK(rates[i] / sessions[i].rate == doctest::Approx(rates[0] / sessions[0].rate).epsilon(0.001));
}

TEST_CASE("a candidate that cannot be in time gets no slot") {
  auto slow = resnet50_session;
  slow.slo = 6ms;  // ℓ(1) = 6.125 ms
  const auto plan = squishy_packing({slow, resnet50_session}, 2);
  for (const auto& slot : plan)
    for (const auto& s : slot) CHECK(s.model == 1);
  CHECK(squishy_packing({}, 3).size() == 3);
}
