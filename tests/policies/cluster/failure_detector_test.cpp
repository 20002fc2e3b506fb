#include "policies/cluster/failure_detector.hpp"

#include <doctest/doctest.h>

#include <map>
#include <set>

#include "policies/common/random.hpp"
#include "tests/policies/common/moments.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

using deaths = std::vector<failure_detector::death>;

constexpr node_id peer{3};
constexpr incarnation_id first_incarnation{10}, second_life{11};

deaths of(failure_detector& d) {
  deaths out;
  d.take_dead_nodes(out);
  return out;
}

}  // namespace

TEST_CASE("a silent peer is dead after the timeout, and is reported once") {
  failure_detector d(50ms);
  CHECK(d.on_heartbeat(peer, first_incarnation, the_start));
  d.advance(the_start + 50ms - 1ns);
  CHECK(of(d).empty());
  d.advance(the_start + 50ms);
  CHECK(of(d) == deaths{{peer, first_incarnation}});
  d.advance(the_start + 1s);
  d.lost(peer, first_incarnation);
  CHECK(of(d).empty());
}

TEST_CASE("heartbeats postpone the timeout, also if they arrive out of order") {
  failure_detector d(50ms);
  d.on_heartbeat(peer, first_incarnation, the_start);
  d.on_heartbeat(peer, first_incarnation, the_start + 40ms);
  d.on_heartbeat(peer, first_incarnation, the_start + 10ms);
  d.advance(the_start + 89ms);
  CHECK(of(d).empty());
  d.advance(the_start + 90ms);
  CHECK(of(d) == deaths{{peer, first_incarnation}});
}

TEST_CASE("heartbeats of an ended incarnation are ignored, those of a later one count") {
  failure_detector d(50ms);
  d.on_heartbeat(peer, first_incarnation, the_start);
  d.lost(peer, first_incarnation);
  CHECK(of(d) == deaths{{peer, first_incarnation}});
  CHECK_FALSE(d.on_heartbeat(peer, first_incarnation, the_start + 1ms));
  CHECK(d.on_heartbeat(peer, second_life, the_start + 2ms));
  CHECK_FALSE(d.on_heartbeat(peer, first_incarnation, the_start + 3ms));
  d.lost(peer, first_incarnation);
  CHECK(of(d).empty());
  CHECK(d.on_heartbeat(peer, second_life, the_start + 4ms));
}

TEST_CASE("a later incarnation ends the earlier one") {
  failure_detector d(50ms);
  d.on_heartbeat(peer, first_incarnation, the_start);
  CHECK(d.on_heartbeat(peer, second_life, the_start));
  CHECK(of(d) == deaths{{peer, first_incarnation}});
}

TEST_CASE("the loss of an unknown incarnation counts, and ends the earlier one") {
  failure_detector d(50ms);
  d.on_heartbeat(peer, first_incarnation, the_start);
  d.lost(peer, second_life);
  CHECK(of(d) == deaths{{peer, first_incarnation}, {peer, second_life}});
  CHECK_FALSE(d.on_heartbeat(peer, second_life, the_start));
}

TEST_CASE("incarnation 0, which means any, belongs to no node") {
  failure_detector d(50ms);
  CHECK_FALSE(d.on_heartbeat(peer, incarnation_id{}, the_start));
  d.lost(peer, incarnation_id{});
  CHECK(of(d).empty());
}

TEST_CASE("over random histories every incarnation dies at most once, in time, and stays dead") {
  constexpr duration timeout = 20ms;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    CAPTURE(seed);
    random_stream random(seed, "failures");
    failure_detector d(timeout);
    std::map<uint32_t, incarnation_id> latest;  // the highest incarnation known or reported lost
    std::map<uint32_t, time_point> heard_at;
    std::set<std::pair<uint32_t, uint64_t>> dead;
    time_point now{};
    for (int step = 0; step < 2000; ++step) {
      now += duration{random.below(3000000)};
      const auto n = static_cast<uint32_t>(random.below(5));
      auto& known = latest[n];
      const incarnation_id incarnation{
          std::max<uint64_t>(1, known.value + random.below(20) / 19 - random.below(10) / 9)};
      const bool over = incarnation < known || dead.contains({n, incarnation.value});
      const auto choice = random.below(20);
      if (choice < 14) {
        REQUIRE(d.on_heartbeat(node_id{n}, incarnation, now) == !over);
        if (!over) heard_at[n] = now;
      } else if (choice == 14) {
        d.lost(node_id{n}, incarnation);
      }
      if (choice <= 14) known = std::max(known, incarnation);

      d.advance(now);
      for (const auto& death : of(d)) {
        REQUIRE(dead.insert({death.peer.value, death.incarnation.value}).second);
        REQUIRE(death.incarnation <= latest[death.peer.value]);
      }
      for (uint32_t i = 0; i < 5; ++i) {
        const bool alive = latest[i] != incarnation_id{} && !dead.contains({i, latest[i].value});
        REQUIRE(d.latest(node_id{i}) == latest[i]);
        REQUIRE((!alive || now < heard_at[i] + timeout));
      }
    }
    CHECK(dead.size() > 20);
  }
}
