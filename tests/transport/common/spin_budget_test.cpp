#include "transport/common/spin_budget.hpp"

#include <doctest/doctest.h>

#include <random>

using namespace troupe;

namespace {

/// A thread and its events.
struct waiting_thread {
  void event_after(duration gap) { spins.add(1, now += gap); }
  spin_budget spins{50us};
  time_point now{1h};
};

}  // namespace

TEST_CASE("spin_budget: nothing is spun before events came") {
  CHECK(spin_budget(50us).allowed() == 0us);
  waiting_thread t;
  t.event_after(0us);
  CHECK(t.spins.allowed() == 0us);
}

TEST_CASE("spin_budget: frequent events are worth the whole spin time, rare ones nothing") {
  waiting_thread t;
  for (int i = 0; i < 100; ++i) t.event_after(20us);
  CHECK(t.spins.allowed() == 50us);
  for (int i = 0; i < 100; ++i) t.event_after(1ms);
  CHECK(t.spins.allowed() == 0us);
  for (int i = 0; i < 100; ++i) t.event_after(300us);
  CHECK(t.spins.allowed() == 50us);
}

TEST_CASE("spin_budget: one long rest ends the spinning at once, and a burst after it does not begin it") {
  waiting_thread t;
  for (int i = 0; i < 100; ++i) t.event_after(20us);
  t.event_after(100ms);
  CHECK(t.spins.allowed() == 0us);
  for (int request = 0; request < 50; ++request) {
    for (int i = 0; i < 12; ++i) {
      t.event_after(20us);
      CHECK(t.spins.allowed() == 0us);
    }
    t.event_after(20ms);
  }
}

TEST_CASE("spin_budget: events that were counted together have the gaps between them") {
  waiting_thread t;
  for (int i = 0; i < 50; ++i) t.spins.add(10, t.now += 1ms);
  CHECK(t.spins.allowed() == 50us);  // 100 us each
  t.spins.add(0, t.now += 1h);
  CHECK(t.spins.allowed() == 50us);
  for (int i = 0; i < 50; ++i) t.spins.add(1000, t.now += 1s);
  CHECK(t.spins.allowed() == 0us);  // 1 ms each
}

TEST_CASE("spin_budget: random events are spun for at high rates, and hardly ever at low ones") {
  std::mt19937 random(1);
  const auto spun_waits = [&](double mean_us) {
    std::exponential_distribution<double> gap_us(1 / mean_us);
    waiting_thread t;
    int spun = 0;
    for (int i = 0; i < 20'000; ++i) {
      spun += t.spins.allowed() > 0us;
      t.event_after(from_ms(gap_us(random) / 1e3));
    }
    return spun;
  };
  CHECK(spun_waits(50) > 19'900);
  CHECK(spun_waits(200) > 19'000);
  CHECK(spun_waits(1000) < 400);
  CHECK(spun_waits(20'000) == 0);
}

TEST_CASE("spin_budget: without spin time nothing is spun") {
  spin_budget spins(0us);
  time_point now{1h};
  for (int i = 0; i < 100; ++i) spins.add(1, now += 1us);
  CHECK(spins.allowed() == 0us);
}
