#include "policies/scaling/phased_rule.hpp"

#include <doctest/doctest.h>

using namespace troupe;

namespace {

using counts = phased_rule::counts;

/// An instance prefills 100 tokens a second, and decodes 100 tokens of KV cache; 2 to 8 instances.
struct phased_load {
  explicit phased_load(uint32_t min = 2, uint32_t max = 8) : rule({min, max, 2s}) {}
  counts decide(double prefill, double decode) {
    const resource_load p[] = {{prefill, 100, {0.5, 0.7}}}, d[] = {{decode, 100, {0.75, 0.95}}};
    const auto what = rule.decide(now, p, d, prefill, ordered);
    why = what.why;
    return ordered = what.wanted;
  }
  /// For so long, ten times a second.
  counts run(duration time, double prefill, double decode) {
    for (const auto end = now + time; now < end; now += 100ms) decide(prefill, decode);
    return ordered;
  }
  phased_rule rule;
  counts ordered{1, 1};
  time_point now{1000s};
  scale_reason why = scale_reason::enough;
};

}  // namespace

TEST_CASE("phased rule: each phase gets what its load needs") {
  phased_load l;
  CHECK(l.decide(60, 80) == counts{1, 1});
  CHECK(l.why == scale_reason::enough);
  CHECK(l.decide(60, 220) == counts{1, 3});
  CHECK(l.why == scale_reason::above);
  CHECK(l.run(10s, 60, 80) == counts{1, 2});
  CHECK(l.run(10s, 60, 40) == counts{1, 1});
}

TEST_CASE("phased rule: when more prefill, as many more decode before their sequences are there") {
  phased_load l;
  CHECK(l.decide(180, 80) == counts{4, 4});
  CHECK(l.why == scale_reason::above);
  CHECK(l.run(20s, 180, 80) == counts{4, 2});  // they were not needed
}

TEST_CASE("phased rule: what decodes has precedence where the instances do not suffice") {
  phased_load l;
  CHECK(l.decide(900, 900) == counts{1, 7});
  phased_load small(2, 2);
  CHECK(small.decide(900, 900) == counts{1, 1});
}

TEST_CASE("phased rule: there are never fewer than the minimum, nor one phase without the other") {
  phased_load l(4);
  l.ordered = {2, 2};
  CHECK(l.run(20s, 0, 0) == counts{2, 2});
  phased_load any(0);
  CHECK(any.run(20s, 0, 0) == counts{0, 0});
  CHECK(any.decide(10, 0) == counts{1, 1});
}
