#include "policies/scaling/scale_rule.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "policies/common/distributions.hpp"
#include "policies/common/random.hpp"

using namespace troupe;

namespace {

constexpr scale_bounds prefill_bounds{0.5, 0.7};  // of the paper

/// A model with one resource, whose orders are carried out at once.
struct scaled_model {
  explicit scaled_model(uint32_t ordered_at_first, scale_rule::parameters p = {0, 100, 2s})
      : rule(p), ordered(ordered_at_first) {}

  scale_rule::decision decide(double demand, double of_instance = 15'000) {
    const resource_load load{demand, of_instance, prefill_bounds};
    const auto d = rule.decide(now, std::span(&load, 1), demand, ordered);
    ordered = d.instances;
    return d;
  }
  /// The reason of the last decision.
  scale_reason run(duration time, double demand) {
    auto why = scale_reason::enough;
    for (const auto end = now + time; now < end; now += 100ms) why = decide(demand).why;
    return why;
  }

  scale_rule rule;
  uint32_t ordered;
  time_point now{1000s};
};

/// An instance prefills `rate` tokens a second and is believed to do `rate · belief`. Of `arriving` tokens a
/// second, those that are not done wait.
struct loaded_model {
  double arriving, rate, belief;
  duration loading;
  scale_rule rule;
  uint32_t ordered = 1, serving = 1;
  double waiting = 0;
  std::vector<time_point> loaded_at = {};  ///< of instances that load
  time_point now{1000s};
  std::vector<uint32_t> history = {1};  ///< numbers ordered

  void pass(duration step) {
    std::erase_if(loaded_at, [&](time_point t) { return t <= now && ++serving; });
    waiting = std::max(0.0, waiting + to_seconds(step) * (arriving - serving * rate));
    const auto backlog = std::max(5.0, to_seconds(loading));
    const resource_load load{arriving + waiting / backlog, rate * belief, prefill_bounds};
    const auto wanted = rule.decide(now, std::span(&load, 1), arriving, ordered).instances;
    for (; ordered < wanted; ++ordered) loaded_at.push_back(now + loading);
    for (; ordered > wanted; --ordered) loaded_at.empty() ? void(--serving) : loaded_at.pop_back();
    if (wanted != history.back()) history.push_back(wanted);
    now += step;
  }
  /// Changes from fewer to more.
  size_t rises_after_falls() const {
    size_t n = 0;
    for (size_t i = 2; i < history.size(); ++i)
      n += history[i] > history[i - 1] && history[i - 1] < history[i - 2];
    return n;
  }
};

}  // namespace

TEST_CASE("scale rule: the range of instances has one end for each bound") {
  CHECK(instances_for({30'000, 15'000, prefill_bounds}) ==
        instance_range{3, 4});  // 4 by the lower bound, not 3
  CHECK(instances_for({7'500, 15'000, prefill_bounds}) == instance_range{1, 1});
  CHECK(instances_for({7'501, 15'000, prefill_bounds}) == instance_range{1, 2});
  CHECK(instances_for({10'500, 15'000, prefill_bounds}) == instance_range{1, 2});
  CHECK(instances_for({10'501, 15'000, prefill_bounds}) == instance_range{2, 2});
  CHECK(instances_for({16'000, 8'000, {0.75, 0.95}}) == instance_range{3, 3});  // KV blocks
  CHECK(instances_for({0, 0, prefill_bounds}) == instance_range{0, 0});
  CHECK_FALSE(instances_for({1, 0, prefill_bounds}));
  CHECK(instances_for({1e300, 1, prefill_bounds}) == instance_range{1 << 20, 1 << 20});
}

TEST_CASE("scale rule: an overloaded model gets the middle of the range at once") {
  scaled_model m(1);
  const auto d = m.decide(30'000);
  CHECK(d.instances == 4);  // +3
  CHECK(d.needed == instance_range{3, 4});
  CHECK(d.why == scale_reason::above);
  CHECK(m.decide(30'000).why == scale_reason::enough);
  CHECK(m.decide(42'000).instances == 4);  // exactly the upper bound
  CHECK(m.decide(42'001).instances == 6);
}

TEST_CASE("scale rule: an instance goes after the load was below the lower bound for two seconds") {
  scaled_model m(4);
  CHECK(m.run(2s, 22'500) == scale_reason::below_soon);  // three suffice, at the lower bound
  CHECK(m.ordered == 4);
  CHECK(m.decide(22'500).why == scale_reason::below);
  CHECK(m.ordered == 3);
  CHECK(m.run(10s, 22'500) == scale_reason::enough);
  CHECK(m.ordered == 3);
  CHECK(m.run(1900ms, 0) == scale_reason::below_soon);
  CHECK(m.run(100ms, 15'001) == scale_reason::enough);  // the time begins anew
  m.run(2s, 0);
  CHECK(m.ordered == 3);
  m.run(100ms, 0);
  CHECK(m.ordered == 2);
  m.run(2s, 0);
  CHECK(m.ordered == 1);
  m.run(2s, 0);
  CHECK(m.ordered == 0);
}

TEST_CASE("scale rule: what is not measured prevents fewer instances, and no more") {
  scale_rule rule({1, 10, 0s});
  const std::vector<resource_load> loads{{30'000, 15'000, prefill_bounds}, {100, 0, prefill_bounds}};
  CHECK(rule.decide(time_point{1s}, loads, 0, 1).instances == 4);
  const auto d = rule.decide(time_point{1s}, loads, 0, 8);
  CHECK(d.instances == 8);
  CHECK(d.why == scale_reason::unmeasured);
}

TEST_CASE("scale rule: the resource that needs most decides, for more and for fewer") {
  scale_rule rule({1, 10, 0s});
  std::vector<resource_load> loads{{5'000, 15'000, prefill_bounds}, {16'000, 8'000, {0.75, 0.95}}};
  CHECK(rule.decide(time_point{1s}, loads, 0, 2).instances == 3);
  CHECK(rule.decide(time_point{1s}, loads, 0, 3).why == scale_reason::enough);
  loads[1].demand = 0;
  CHECK(rule.decide(time_point{1s}, loads, 0, 3).instances == 2);
}

TEST_CASE("scale rule: an order of somebody else counts until the load asks for another number") {
  scaled_model m(2);
  m.run(5s, 15'000);
  m.ordered = 5;
  CHECK(m.run(2s, 15'000) == scale_reason::below_soon);  // its own time
  CHECK(m.ordered == 5);
  m.run(100ms, 15'000);
  CHECK(m.ordered == 4);
  m.ordered = 1;
  CHECK(m.decide(15'000).instances == 2);
}

TEST_CASE("scale rule: a number that proved too few is not returned to unless fewer tokens arrive") {
  scale_rule rule({1, 10, 0s});
  const auto decide = [&](double demand, double arriving, uint32_t ordered) {
    const resource_load load{demand, 15'000, prefill_bounds};
    return rule.decide(time_point{1s}, std::span(&load, 1), arriving, ordered);
  };
  CHECK(decide(15'000, 15'000, 3).instances == 2);
  CHECK(decide(30'000, 15'000, 2).instances == 4);  // it works slower than measured, and requests wait
  CHECK(decide(15'000, 15'000, 4).instances == 3);
  CHECK(decide(15'000, 15'000, 3).why == scale_reason::too_few);
  CHECK(decide(15'000, 13'600, 3).instances == 3);
  CHECK(decide(13'400, 13'400, 3).instances == 2);
}

TEST_CASE("scale rule: the calm that a number needs doubles each time that it proves too few") {
  scale_rule rule({1, 10, 1s});
  uint32_t ordered = 3;
  time_point now{1000s};
  const auto decide = [&](double arriving) {
    const resource_load load{arriving, 15'000, prefill_bounds};
    const auto d = rule.decide(now, std::span(&load, 1), arriving, ordered);
    ordered = d.instances;
    now += 100ms;
    return d.why;
  };
  const auto time_to_fall = [&] {
    const auto began = now;
    while (decide(14'000) != scale_reason::below) REQUIRE(now - began < 1h);
    return std::chrono::round<std::chrono::seconds>(now - began);
  };
  CHECK(time_to_fall() == 1s);
  for (const auto calm : {1s, 2s, 4s, 8s, 16s, 32s, 64s, 128s, 256s, 300s, 300s}) {
    CHECK(decide(22'000) == scale_reason::above);
    CHECK(ordered == 3);
    CHECK(time_to_fall() == calm);
  }
  now += 10min;
  CHECK(decide(22'000) == scale_reason::above);
  CHECK(time_to_fall() == 1s);
}

TEST_CASE("scale rule: a number that proved too few without arrivals is returned to") {
  scale_rule rule({1, 10, 0s});
  const auto decide = [&](double demand, uint32_t ordered, time_point now) {
    const resource_load load{demand, 15'000, prefill_bounds};
    return rule.decide(now, std::span(&load, 1), 0, ordered).instances;
  };
  CHECK(decide(0, 2, time_point{1s}) == 1);
  CHECK(decide(15'000, 1, time_point{2s}) == 2);  // by what runs
  CHECK(decide(0, 2, time_point{3s}) == 1);
}

TEST_CASE("scale rule: numbers stay within the limits") {
  random_stream r(1, "limits");
  for (int i = 0; i < 2000; ++i) {
    const auto min = static_cast<uint32_t>(r.below(5));
    const auto max = min + 1 + static_cast<uint32_t>(r.below(8));
    scaled_model m(min, {min, max, 300ms});
    for (int k = 0; k < 40; ++k, m.now += 100ms) {
      const double demand = r.below(4) == 0 ? 0 : r.uniform() * 200'000;
      const auto before = m.ordered;
      const auto d = m.decide(demand);
      CHECK(d.instances >= min);
      CHECK(d.instances <= max);
      CHECK(d.needed.min <= d.needed.max);
      CHECK(d.instances + 1 >= before);  // one at a time
      if (d.instances > before) CHECK(d.instances <= d.needed.max);
      if (d.instances != before) CHECK(d.instances >= d.needed.min);
    }
  }
}

TEST_CASE("scale rule: under a constant load the number never rises after it fell, for any time of loading") {
  random_stream r(1, "loading times");
  size_t falls = 0;
  for (int i = 0; i < 300; ++i) {
    loaded_model m{10'000 + r.uniform() * 200'000, 15'000, 1, from_ms(r.uniform() * 60'000),
                   scale_rule({1, 64, 2s})};
    for (int k = 0; k < 6000; ++k) m.pass(100ms);
    CHECK(m.rises_after_falls() == 0);
    const auto needed = instances_for({m.arriving, m.rate, prefill_bounds});
    CHECK(m.ordered >= needed->min);
    CHECK(m.ordered <= needed->max);
    CHECK(m.waiting == 0);
    CHECK(std::ranges::max(m.history) <= 2 * needed->max);
    falls += m.history.size() > 2 && m.history.back() < m.history[m.history.size() - 2];
  }
  CHECK(falls > 50);
}

TEST_CASE("scale rule: under a noisy load of constant mean the number rarely rises after it fell") {
  random_stream r(1, "noise");
  size_t most = 0, sum = 0;
  for (int i = 0; i < 100; ++i) {
    const double mean = 10'000 + r.uniform() * 200'000;
    const auto requests = 2 + r.below(60);  // in the window that arrivals are measured over
    loaded_model m{mean, 15'000, 1, from_ms(r.uniform() * 10'000), scale_rule({1, 64, 2s})};
    std::vector<double> window(20);  // of two seconds
    for (int k = 0; k < 36'000; ++k) {
      double tokens = 0;  // of prompts with exponential lengths, at random times
      for (uint64_t n = 0; n < requests; ++n)
        if (r.below(20) == 0) tokens += exponential(r, 20 * mean / static_cast<double>(requests));
      window[static_cast<size_t>(k) % window.size()] = tokens;
      m.arriving = std::accumulate(window.begin(), window.end(), 0.0) / static_cast<double>(window.size());
      m.pass(100ms);
    }
    most = std::max(most, m.rises_after_falls());
    sum += m.rises_after_falls();
  }
  MESSAGE("in an hour: at most ", most, ", mean ", static_cast<double>(sum) / 100);
  CHECK(most <= 60);  // 234 and 130, if the calm did not grow
  CHECK(sum <= 3000);
}

TEST_CASE("scale rule: with wrong rates it returns to no number that has proved too few") {
  random_stream r(1, "wrong rates");
  size_t rises = 0;
  for (int i = 0; i < 300; ++i) {
    loaded_model m{10'000 + r.uniform() * 200'000, 15'000, 0.3 + r.uniform() * 3,
                   from_ms(r.uniform() * 20'000), scale_rule({1, 64, 2s})};
    for (int k = 0; k < 20'000; ++k) m.pass(100ms);
    uint32_t too_few = 0;
    for (size_t k = 2; k < m.history.size(); ++k) {
      const auto& h = m.history;
      if (h[k] < h[k - 1] || h[k - 1] > h[k - 2]) continue;
      CHECK(h[k - 1] > too_few);
      too_few = h[k - 1];
      ++rises;
    }
  }
  CHECK(rises > 30);
}
