// The worked examples of Symphony §3.3: ℓ(b) = b + 5, SLO 12, 3 GPUs, R_i at 0.75 · (i - 1); a unit is 1 ms.
#include <doctest/doctest.h>

#include <ostream>

#include "tests/policies/common/moments.hpp"
#include "tests/policies/matchmaking/bare_simulation.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

constexpr double arrival_of(uint64_t i) { return 0.75 * static_cast<double>(i - 1); }

/// One batch of the trace: when and where it starts, and its requests R_first to R_last.
struct planned {
  double start;
  uint32_t slot;
  uint64_t first, last;
  bool operator==(const planned&) const = default;
};
std::ostream& operator<<(std::ostream& out, const planned& p) {
  return out << p.start << ": R" << p.first << "-R" << p.last << " on " << p.slot;
}

struct example {
  /// Requests R_first to R_last; slots free from the given times.
  example(std::string_view batching, uint64_t first, uint64_t last, std::vector<double> free_at,
          std::vector<uint64_t> missing = {}) {
    batching_parameters p;
    p.latency = {1ms, 5ms};
    p.slo = 12ms;
    p.slots = 3;
    std::vector<arriving> requests;
    for (uint64_t i = first; i <= last; ++i) {
      if (std::find(missing.begin(), missing.end(), i) != missing.end()) continue;
      requests.push_back({ms(arrival_of(i)), ms(arrival_of(i) + 12)});
      numbers.push_back(i);
    }
    for (const double t : free_at) sim.add_slot(ms(t));
    sim.add_model(batching, "timeout", p, list_of(std::move(requests)));
    sim.run();
  }

  uint64_t number(request_id id) const { return numbers.at(id.value - 1); }
  planned batch(size_t i) const {
    const auto& b = sim.batches.at(i);
    return {to_ms(b.exec_at.time_since_epoch()), b.slot, number(b.requests.front().id),
            number(b.requests.back().id)};
  }
  std::vector<uint64_t> dropped() const {
    std::vector<uint64_t> result;
    for (const auto& d : sim.drops) result.push_back(number(d.what.request.id));
    return result;
  }

  bare_simulation sim;
  std::vector<uint64_t> numbers;  // of the paper, by request id
};

}  // namespace

TEST_CASE("Figure 4: deferred batching forms a staggered execution and maintains it") {
  const example e("deferred", 1, 120, {0, 0, 0});
  REQUIRE(e.sim.batches.size() == 30);
  CHECK(e.batch(0) == planned{2.25, 0, 1, 4});
  CHECK(e.batch(1) == planned{5.25, 1, 5, 8});
  CHECK(e.batch(2) == planned{8.25, 2, 9, 12});
  CHECK(e.batch(3) == planned{11.25, 0, 13, 16});
  // Four requests arrive in a third of ℓ(4) = 9: every GPU starts its next batch as it ends one.
  for (size_t i = 0; i < 30; ++i)
    CHECK(e.batch(i) ==
          planned{2.25 + 3.0 * static_cast<double>(i), static_cast<uint32_t>(i % 3), 4 * i + 1, 4 * i + 4});
  CHECK(e.dropped().empty());
}

TEST_CASE("Figure 5b: three requests missing, deferred batching pauses and regains the stagger") {
  const example e("deferred", 1, 99, {0, 0, 0}, {13, 14, 15});
  CHECK(e.batch(2) == planned{8.25, 2, 9, 12});
  CHECK(e.batch(3) == planned{13.5, 0, 16, 19});
  for (size_t i = 3; i < e.sim.batches.size(); ++i) {
    const auto n = i - 3;
    CHECK(e.batch(i) ==
          planned{13.5 + 3.0 * static_cast<double>(n), static_cast<uint32_t>(n % 3), 16 + 4 * n, 19 + 4 * n});
  }
  CHECK(e.dropped().empty());
}

TEST_CASE("Figure 5a: eager batching from R16 on deteriorates and drops R35, R37, R38") {
  // The first three batches as in Figure 4 end at these times.
  const example e("eager", 16, 60, {11.25, 14.25, 17.25});
  CHECK(e.batch(0) == planned{11.25, 0, 16, 16});
  CHECK(e.batch(1) == planned{14.25, 1, 17, 20});
  // GPUs 1 and 3 are both free at 17.25; the figure takes GPU 3, the lowest id is GPU 1.
  CHECK(e.batch(2) == planned{17.25, 0, 21, 24});
  CHECK(e.batch(3) == planned{18, 2, 25, 25});
  CHECK(e.batch(4) == planned{23.25, 1, 26, 27});
  const auto dropped = e.dropped();
  REQUIRE(dropped.size() > 3);
  CHECK(std::vector(dropped.begin(), dropped.begin() + 3) == std::vector<uint64_t>{35, 37, 38});
}
