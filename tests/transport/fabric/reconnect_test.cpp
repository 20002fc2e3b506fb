// Two fabrics that connect and disconnect at any time, also at once, and whose threads pause in between.
#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <random>
#include <thread>
#include <vector>

#include "tests/transport/fabric/fabric_side.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

/// A fabric of this process with an address of its own.
struct reconnecting_side {
  explicit reconnecting_side(uint32_t node) : own(options(node)) { own.carrier->start(own.events); }
  static test_fabric_options options(uint32_t node) {
    auto o = test_options(node, 1);
    o.linger = 3ms;  // a pause is longer: what has not left by then is given up
    return o;
  }
  /// Keeps the fabric's thread for a while, as a process that is not scheduled does.
  void pause(duration time) {
    own.carrier->post([time] { std::this_thread::sleep_for(time); });
  }
  side own;
};

}  // namespace

TEST_CASE("fabrics that connect, break off and pause at any time reach each other in the end") {
  reconnecting_side sides[] = {reconnecting_side(0), reconnecting_side(1)};
  const auto connect = [&](unsigned i) {
    sides[i].own.carrier->connect(node_id{1 - i}, incarnation_id{1}, sides[1 - i].own.carrier->address());
  };
  std::mt19937 random(7);
  const auto below = [&](unsigned n) { return std::uniform_int_distribution<unsigned>(0, n - 1)(random); };
  for (int round = 0; round < 1500; ++round) {
    const unsigned i = below(2);
    switch (below(5)) {
      case 0: sides[i].own.carrier->disconnect(node_id{1 - i}); break;
      case 1: sides[i].pause(std::chrono::microseconds(below(8000))); break;
      default: connect(i); break;
    }
    sides[i].own.carrier->send(node_id{1 - i}, bytes_of(1));
    if (below(3) == 0) std::this_thread::sleep_for(std::chrono::microseconds(below(3000)));
  }
  // A connection may still be lost to the end of an earlier one; the owner of a fabric then connects again.
  std::array<size_t, 2> before{};
  for (unsigned i : {0u, 1u}) before[i] = sides[i].own.events.frames().size();
  const auto reached = [&](unsigned i) { return sides[i].own.events.frames().size() > before[i]; };
  const auto both_reached = [&] {
    for (unsigned i : {0u, 1u}) sides[i].own.carrier->send(node_id{1 - i}, bytes_of(2));
    return reached(0) && reached(1);
  };
  for (int again = 0; again < 20 && !both_reached(); ++again) {
    for (unsigned i : {0u, 1u}) connect(i);
    eventually(both_reached, 2s);
  }
  CHECK(reached(0));
  CHECK(reached(1));
}

TEST_CASE("a fabric stops in time beside a peer that is suspended before it connects, and its pulls end") {
  for (const auto path : pull_paths()) {
    fabric_child child(1, 7);
    child.stop();
    auto options = test_options(0, 1);
    options.pulls = path;
    side us(options);
    us.carrier->start(us.events);
    std::vector<std::byte> into(4096);
    std::atomic<int> ended{0};
    for (int attempt = 0; attempt < 3; ++attempt) {
      us.carrier->connect(there, incarnation_id{7}, child.address());
      for (uint64_t i = 0; i < 100; ++i) us.carrier->send(there, bytes_of(i));
      us.carrier->pull(there, 0, into, [&](pull_status) { ++ended; });
      us.carrier->pull(there, 4096, std::span(into).first(64), [&](pull_status) { ++ended; });
      us.carrier->disconnect(there);
    }
    const auto began = std::chrono::steady_clock::now();
    us.carrier->stop();
    CHECK(std::chrono::steady_clock::now() - began < 10s);
    CHECK(ended == 6);
    child.go_on();
  }
}
