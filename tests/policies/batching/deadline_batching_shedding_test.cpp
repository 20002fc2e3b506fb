// Shedding: heads of a queue that are given up for the requests behind them.
#include "tests/policies/batching/paper_batching.hpp"

using namespace troupe;
using namespace troupe::test;

TEST_CASE("timeout shedding drops a head only if even a batch of its own would be late") {
  eager policy(paper(), shedding::timeout);
  policy.add(due(8, 1), ms(0));
  policy.add(due(9, 2, 2), ms(0));
  policy.add(due(20, 3), ms(0));
  policy.update(ms(2), long_ago);
  CHECK(dropped_by(policy).empty());
  policy.update(ms(2) + 1ns, long_ago);
  CHECK(dropped_by(policy) == drop_list{{1, drop_reason::late}, {2, drop_reason::late}});
  CHECK(dropped_by(policy).empty());
  CHECK(batch_of(policy) == ids{3});
}

TEST_CASE("window shedding gives up a head for a batch of the target size") {
  auto p = paper();
  p.slots = 1000;
  eager policy(p, shedding::window);
  // 2 rows a ms: b / rate + ℓ(b) ≤ 12 ms gives a target of 4.
  for (uint64_t id = 1; id <= 100; ++id) {
    policy.add(due(1000, id), ms(static_cast<double>(id - 1) / 2));
    removed_from(policy, id);
  }
  const double now = 50;
  policy.add(due(now + 8.5, 101), ms(now));  // could run in a batch of 3
  for (uint64_t id = 102; id <= 105; ++id) policy.add(due(now + 10, id), ms(now));
  policy.update(ms(now), long_ago);
  CHECK(dropped_by(policy) == drop_list{{101, drop_reason::shed}});
  CHECK(policy.window().rows == 4);

  SUBCASE("but not if the queue behind it is too short for that") {
    batch_of(policy);
    policy.add(due(now + 8.5, 201), ms(now));
    policy.add(due(now + 10, 202), ms(now));
    policy.add(due(now + 10, 203), ms(now));
    policy.update(ms(now), long_ago);
    CHECK(dropped_by(policy).empty());
    CHECK(policy.window().rows == 3);
  }
  SUBCASE("and reports a head that was late anyway") {
    batch_of(policy);
    policy.add(due(now + 5.5, 201), ms(now));
    policy.add(due(now + 7.5, 202), ms(now));
    for (uint64_t id = 203; id <= 206; ++id) policy.add(due(now + 10, id), ms(now));
    policy.update(ms(now), long_ago);
    CHECK(dropped_by(policy) == drop_list{{201, drop_reason::late}, {202, drop_reason::shed}});
  }
  SUBCASE("a batch grows beyond the target where that costs nothing") {
    batch_of(policy);
    for (uint64_t id = 201; id <= 208; ++id) policy.add(due(now + 12, id), ms(now));
    policy.update(ms(now), long_ago);
    CHECK(policy.window().rows == 7);
  }
}

TEST_CASE(
    "staggered shedding protects the whole batch of the staggered schedule, also where slots are plenty") {
  auto p = paper();
  p.slots = 1000;
  const double now = 50;
  const auto look_at = [&](batching_policy& policy) {
    for (uint64_t id = 1; id <= 100; ++id) {  // a target of 4, as above
      policy.add(due(1000, id), ms(static_cast<double>(id - 1) / 2));
      removed_from(policy, id);
    }
    policy.set_load(0.01);
    policy.add(due(now + 8.5, 101), ms(now));
    for (uint64_t id = 102; id <= 105; ++id) policy.add(due(now + 11, id), ms(now));
    policy.update(ms(now), long_ago);
  };
  deferred window(p, shedding::window), staggered(p, shedding::staggered);
  look_at(window);
  CHECK(dropped_by(window).empty());
  CHECK(window.window().rows == 3);
  look_at(staggered);
  CHECK(dropped_by(staggered) == drop_list{{101, drop_reason::shed}});
  CHECK(staggered.window() == batch_window{4, ms(now + 11 - 10), ms(now + 11 - 9)});  // as in Algorithm 1
}

TEST_CASE("in overload window shedding protects larger batches, up to those of the staggered schedule") {
  batching_parameters p;
  p.latency = {1ms, 5ms};
  p.slo = 100ms;
  p.slots = 4;
  // 3 rows a ms: b / rate + ℓ(b) ≤ 100 ms gives a target of 71. A twentieth more time a row: 40.
  const auto protected_at = [&](double load) {
    for (uint32_t b = 1;; ++b) {
      eager policy(p, shedding::window);
      for (uint64_t id = 1; id <= 300; ++id) {
        policy.add(due(1e6, id), ms(static_cast<double>(id) / 3));
        removed_from(policy, id);
      }
      policy.set_load(load);
      policy.add(due(100 + 5 + b, 1000), ms(100));  // can run among b
      for (uint64_t id = 1001; id <= 1090; ++id) policy.add(due(100 + 95, id), ms(100));
      policy.update(ms(100), long_ago);
      if (dropped_by(policy).empty()) return b;
    }
  };
  CHECK(protected_at(1) == 40);
  CHECK(protected_at(1.5) > 50);
  CHECK(protected_at(1.5) < 60);
  CHECK(protected_at(2) == 71);
  CHECK(protected_at(5) == 71);
}

TEST_CASE("window shedding protects no more than what can still run together") {
  auto p = paper();
  p.max_rows = 8;
  p.slo = 1s;  // so that the target is 8
  eager policy(p, shedding::window);
  policy.add(due(7.5, 1), ms(0));  // alone, or with one more
  policy.add(due(8.5, 2), ms(0));  // among three
  policy.add(due(9, 3), ms(0));    // among four
  for (uint64_t id = 4; id <= 6; ++id) policy.add(due(9.5, id), ms(0));
  policy.update(ms(0), long_ago);  // of the six, the last four can run together, and the third with them
  CHECK(dropped_by(policy) == drop_list{{1, drop_reason::shed}, {2, drop_reason::shed}});
  CHECK(batch_of(policy) == ids{3, 4, 5, 6});
}
