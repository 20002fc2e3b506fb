#include "transport/common/alarm_clock.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <thread>

using namespace troupe;

namespace {

using real_clock = std::chrono::steady_clock;

duration time_of_wait(alarm_clock& a) {
  const auto began = real_clock::now();
  a.wait();
  return real_clock::now() - began;
}

}  // namespace

TEST_CASE("alarm_clock: it rings by itself at the time that was set last") {
  alarm_clock a;
  a.set(20ms);
  CHECK(time_of_wait(a) >= 19ms);
  a.set(1h);
  a.set(10ms);
  CHECK(time_of_wait(a) < 1h);
  a.set(-1s);
  a.wait();
  a.set(1ms);
  std::this_thread::sleep_for(5ms);
  a.set(30ms);  // it rang, and nobody waited
  CHECK(time_of_wait(a) >= 25ms);
}

TEST_CASE("alarm_clock: any thread rings it or sets it, also before the wait, and rings add up to one") {
  alarm_clock a;
  a.ring();
  a.ring();
  a.wait();
  a.set(duration::max());
  std::atomic<bool> over{false};
  std::thread waiting([&] {
    a.wait();
    over = true;
    a.wait();
  });
  std::this_thread::sleep_for(20ms);
  CHECK(!over);
  a.ring();
  while (!over) std::this_thread::yield();
  a.set(1ms);
  waiting.join();
}
