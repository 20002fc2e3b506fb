#include "tests/policies/batching/paper_batching.hpp"

using namespace troupe;
using namespace troupe::test;

TEST_CASE("a deferred batch wants to start when one more row would make it late") {
  deferred policy(paper(), shedding::timeout);
  policy.add(due(12, 1), ms(0));
  policy.update(ms(0), long_ago);
  CHECK(policy.window() == batch_window{1, ms(12 - 7), ms(12 - 6)});
  policy.add(due(13, 2), ms(1));
  policy.update(ms(1), long_ago);
  CHECK(policy.window() == batch_window{2, ms(12 - 8), ms(12 - 7)});
  CHECK(batch_of(policy) == ids{1, 2});
  CHECK(policy.window() == batch_window{});
  CHECK(policy.wake_at() == never);
}

TEST_CASE("where others use the slots, a deferred batch wants to start early enough to find one") {
  auto p = paper();
  p.slots = 10;
  deferred policy(p, shedding::window);
  // A row in 1.1 ms: b / rate + ℓ(b) ≤ 12 ms gives batches of 3, which keep 2.4 slots busy.
  for (uint64_t id = 1; id <= 1000; ++id) {
    policy.add(due(1e6, id), ms(1.1 * static_cast<double>(id)));
    removed_from(policy, id);
  }
  const auto wants_to_start = [&](double load) {
    policy.set_load(load);
    policy.add(due(1112, 2000), ms(1100));
    policy.update(ms(1100), long_ago);
    const auto w = policy.window();
    CHECK(w.rows == 1);
    CHECK(w.latest == ms(1106));
    removed_from(policy, 2000);
    return to_ms(w.exec_at - ms(1100));
  };
  REQUIRE(policy.need() == doctest::Approx(2.42).epsilon(0.01));
  CHECK(wants_to_start(0.2) == 5);  // it has the slots to itself
  // A slot comes free every 0.6 ms.
  CHECK(wants_to_start(0.742) == doctest::Approx(5 - 6 * 0.5 * 0.6).epsilon(0.01));
  CHECK(wants_to_start(7) == doctest::Approx(5 - 6 * 0.6));  // no more than all are others'
}

TEST_CASE("a deferred batch waits at most six request gaps for its next request") {
  auto p = paper();
  p.slots = 10;
  deferred policy(p, shedding::window);
  for (uint64_t id = 1; id <= 2000; ++id) {  // 2 rows a ms
    policy.add(due(1e6, id), ms(static_cast<double>(id) / 2));
    removed_from(policy, id);
  }
  policy.set_load(0.1);
  const auto wants_to_start = [&](double asked_at) {
    policy.update(ms(asked_at), long_ago);
    CHECK(policy.window().latest == ms(1012) - policy.latency()(policy.window().rows));
    return to_ms(policy.window().exec_at - ms(1000));
  };
  policy.add(due(1012, 3000), ms(1000));
  CHECK(wants_to_start(1000) == doctest::Approx(3).epsilon(0.01));
  policy.add(due(1013, 3001), ms(1001));
  CHECK(wants_to_start(1001) == doctest::Approx(4).epsilon(0.01));  // another one came: there may be more
  policy.add(due(1014, 3002), ms(1002));
  CHECK(wants_to_start(1002) == doctest::Approx(3));  // the frontrun moment of three
  SUBCASE("six gaps between requests, of any number of rows") {
    removed_from(policy, 3000);
    removed_from(policy, 3001);
    removed_from(policy, 3002);
    policy.add(due(1040, 4000, 2), ms(1002));
    policy.update(ms(1002), long_ago);
    CHECK(to_ms(policy.window().exec_at - ms(1002)) == doctest::Approx(6).epsilon(0.01));
  }
}

TEST_CASE("while the rate is unknown, a deferred batch waits for half its duration and no longer") {
  auto p = paper();
  p.slo = 30s;
  deferred policy(p, shedding::window);
  const auto wait_of = [&](double now, uint64_t id) {
    policy.add(due(now + 30'000, id), ms(now));
    policy.update(ms(now), long_ago);
    return to_ms(policy.window().exec_at - ms(now));
  };
  CHECK(wait_of(0, 1) == 3);  // ℓ(1) = 6 ms
  CHECK(wait_of(2, 2) == 3);  // another one came: there may be more
  CHECK(batch_of(policy) == ids{1, 2});
  CHECK(wait_of(10'000, 3) == 3);  // none came for longer than the meter remembers
}

TEST_CASE("an eager batch wants to start as soon as its inputs can be there and the slot is free") {
  auto p = paper();
  p.network = {.control = 100us, .data = 50us};
  eager policy(p, shedding::timeout);
  policy.add(due(12, 1), ms(0));
  policy.add(due(12, 2), ms(0));
  policy.update(ms(1), long_ago);
  CHECK(policy.window() == batch_window{2, ms(1.2), ms(5)});
  policy.update(ms(1), ms(4));
  CHECK(policy.window() == batch_window{2, ms(4), ms(5)});
}

TEST_CASE("a deferred batch never starts before its inputs are there, nor before its slot is free") {
  auto p = paper();
  p.network = {.control = 100us, .data = 50us};
  deferred policy(p, shedding::timeout);
  policy.add(due(12, 1), ms(0));
  policy.update(ms(5.2), long_ago);
  CHECK(policy.window() == batch_window{1, ms(5.35), ms(6)});
  policy.update(ms(5.2), ms(5.5));
  CHECK(policy.window() == batch_window{1, ms(5.5), ms(6)});
}

TEST_CASE("margin moves the start, response moves start and end") {
  auto p = paper();
  p.margin = 100us;
  p.response = 1ms;
  deferred policy(p, shedding::timeout);
  policy.add(due(12, 1), ms(0));
  policy.update(ms(0), long_ago);
  CHECK(policy.window() == batch_window{1, ms(11 - 7 - 0.1), ms(11 - 6)});
}

TEST_CASE("a batch at its largest size has nothing to wait for") {
  auto p = paper();
  p.max_rows = 3;
  deferred policy(p, shedding::timeout);
  policy.add(due(100, 1, 2), ms(0));
  policy.update(ms(0), long_ago);
  CHECK(policy.window().exec_at == ms(100 - 8));
  policy.add(due(100, 2), ms(0));
  policy.update(ms(0), long_ago);
  CHECK(policy.window().rows == 3);
  CHECK(policy.window().exec_at == ms(0));
}

TEST_CASE("nor has a batch with a next request that is too large to join it") {
  auto p = paper();
  p.max_rows = 3;
  deferred policy(p, shedding::timeout);
  policy.add(due(100, 1, 2), ms(0));
  policy.add(due(101, 2, 2), ms(0));
  policy.update(ms(0), long_ago);
  CHECK(policy.window().rows == 2);
  CHECK(policy.window().exec_at == ms(0));
  CHECK(batch_of(policy) == ids{1});
}

TEST_CASE("a batch is the longest run from the head that meets the earliest deadline") {
  eager policy(paper(), shedding::timeout);
  for (uint64_t id = 1; id <= 6; ++id) policy.add(due(11 + static_cast<double>(id), id), ms(0));
  policy.update(ms(3), long_ago);  // 3 + ℓ(4) = 12
  CHECK(policy.window().rows == 4);
  policy.update(ms(3) + 1ns, long_ago);
  CHECK(policy.window().rows == 3);
  policy.update(ms(3), ms(5));  // the slot is free later
  CHECK(policy.window().rows == 2);
  CHECK(policy.queued_rows() == 6);
}

TEST_CASE("rows count, and a request is never split") {
  eager policy(paper(), shedding::timeout);
  policy.add(due(20, 1, 3), ms(0));
  policy.add(due(20, 2, 4), ms(0));
  policy.add(due(21, 3, 1), ms(0));
  policy.update(ms(9), long_ago);  // 6 rows would fit, 7 would not
  CHECK(policy.window().rows == 3);
  CHECK(batch_of(policy) == ids{1});
  CHECK(policy.queued_rows() == 5);
  CHECK(policy.queued_requests() == 2);
}

TEST_CASE("the policy wakes when its batch can no longer be sent in time, and makes a smaller one") {
  auto p = paper();
  p.network = {.control = 200us, .data = 100us};
  deferred policy(p, shedding::timeout);
  policy.add(due(12, 1), ms(0));
  policy.add(due(12, 2), ms(0));
  policy.update(ms(0), long_ago);
  REQUIRE(policy.wake_at() == ms(12 - 7 - 0.4) + 1ns);
  policy.update(policy.wake_at() - 1ns, long_ago);
  CHECK(policy.window().rows == 2);
  policy.update(policy.wake_at(), long_ago);
  CHECK(policy.window().rows == 1);
  policy.update(policy.wake_at(), long_ago);
  CHECK(dropped_by(policy) == drop_list{{1, drop_reason::late}, {2, drop_reason::late}});
  CHECK(policy.window() == batch_window{});
  CHECK(policy.wake_at() == never);
}

TEST_CASE("a request that can never run is dropped, not queued") {
  auto p = paper();
  p.max_rows = 4;
  deferred policy(p, shedding::timeout);
  policy.add(due(1000, 1, 5), ms(0));
  policy.add(due(1000, 2, 0), ms(0));
  CHECK(policy.queued_requests() == 0);
  CHECK(dropped_by(policy) == drop_list{{1, drop_reason::late}, {2, drop_reason::late}});
}

TEST_CASE("removals from the window empty it until the next update, other changes do not") {
  deferred policy(paper(), shedding::timeout);
  policy.add(due(12, 2), ms(0));
  policy.update(ms(0), long_ago);
  policy.add(due(13, 3), ms(0));
  CHECK(policy.window().rows == 1);
  SUBCASE("an earlier deadline") {
    policy.add(due(11, 1), ms(0));
    CHECK(policy.window() == batch_window{});
    CHECK(batch_of(policy).empty());
    policy.update(ms(0), long_ago);
    CHECK(batch_of(policy) == ids{1, 2, 3});
  }
  SUBCASE("a removal from it") {
    CHECK(removed_from(policy, 2) == ids{2});
    CHECK(removed_from(policy, 2).empty());
    CHECK(policy.window() == batch_window{});
    policy.update(ms(0), long_ago);
    CHECK(batch_of(policy) == ids{3});
  }
  SUBCASE("a removal behind it") {
    CHECK(removed_from(policy, 3) == ids{3});
    CHECK(batch_of(policy) == ids{2});
  }
}

TEST_CASE("a new latency counts from the next update") {
  eager policy(paper(), shedding::timeout);
  for (uint64_t id = 1; id <= 4; ++id) policy.add(due(12, id), ms(0));
  policy.update(ms(0), long_ago);
  CHECK(policy.window().latest == ms(3));
  policy.set_latency({2ms, 5ms});
  policy.update(ms(0), long_ago);
  CHECK(policy.window().rows == 3);
  CHECK(policy.window().latest == ms(1));
}

TEST_CASE("absurd times are survived") {
  for (const auto rule : {shedding::timeout, shedding::window}) {
    deferred policy(paper(), rule);
    policy.add({long_ago, request_id{1}, 1, 0}, ms(0));
    policy.add({never, request_id{2}, 1, 0}, ms(0));
    policy.update(ms(-1e9), long_ago);
    CHECK(dropped_by(policy) == drop_list{{1, drop_reason::late}});
    CHECK(policy.window().rows == 1);
    CHECK(policy.wake_at() == never);
  }
}
