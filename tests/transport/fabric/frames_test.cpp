// Two real processes over each fabric.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/transport/fabric/fabric_side.hpp"

using namespace troupe;
using namespace troupe::testing;

TEST_CASE("frames from 1 byte to 4 MiB arrive complete, aligned and in order") {
  fabric_child child(1, 7);
  side us;
  us.carrier->start(us.events);
  us.meet(child, 7);
  constexpr uint64_t count = 500;
  REQUIRE(child.ask("burst 0 500") == "ok");
  REQUIRE(us.events.wait_for_frames(count));
  const auto frames = us.events.frames();
  REQUIRE(frames.size() == count);
  for (uint64_t i = 0; i < count; ++i) {
    INFO("frame ", i);
    REQUIRE(is_mixed(frames[i], i));
  }
  CHECK(us.events.aligned());
  CHECK(us.events.losses().empty());
  const auto stats = us.carrier->stats();
  CHECK(stats.frames_in == count);
  CHECK(stats.discarded_in == 0);
}

TEST_CASE("small frames of two threads arrive in the order of the calls") {
  fabric_child child(1, 7);
  side us;
  us.carrier->start(us.events);
  us.meet(child, 7);
  std::atomic<uint64_t> next{0};
  std::mutex one_at_a_time;  // the order is that of the calls to send
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5000; ++i) {
        std::lock_guard lock(one_at_a_time);
        us.carrier->send(there, bytes_of(next++, 64));
      }
    });
  }
  for (auto& t : threads) t.join();
  const auto all_in = [&] {
    return child.ask_number("received") + us.carrier->stats().discarded_out == 10'000;
  };
  CHECK(eventually(all_in));
  CHECK(child.ask("ordered") == "1");
}

TEST_CASE("a frame beyond the limit breaks the connection, and nothing behind it arrives") {
  fabric_child child(1, 7);
  side us;
  us.carrier->start(us.events);
  us.meet(child, 7);
  us.carrier->send(there, bytes_of(1));
  REQUIRE(eventually([&] { return child.ask_number("received") == 1; }));
  us.carrier->send(there, std::vector<std::byte>(test_options(0, 1).max_frame_bytes + 1));
  us.carrier->send(there, bytes_of(2));
  us.carrier->send(node_id{99}, bytes_of(1));  // an unknown node
  REQUIRE(us.events.wait_for_losses(1));
  CHECK(us.events.losses()[0].why == "a frame to it is too large");
  CHECK(eventually([&] { return us.carrier->stats().discarded_out == 3; }));
  us.meet(child, 8);
  us.carrier->send(there, bytes_of(3));
  CHECK(eventually([&] { return child.ask_number("received") == 2; }));
}

TEST_CASE("an idle fabric takes less than 3 % of a core") {
  fabric_child child(1, 7);
  side us;
  us.carrier->start(us.events);
  us.meet(child, 7);
  us.carrier->send(there, bytes_of(1));
  REQUIRE(eventually([&] { return child.ask_number("received") == 1; }));
  const auto ours = cpu_time();
  const uint64_t theirs = child.ask_number("cpu");
  std::this_thread::sleep_for(2s);
  CHECK(child.ask_number("cpu") - theirs < 60'000);
  CHECK(cpu_time() - ours < 60ms);
  CHECK(us.carrier->stats().sleeps > 0);
}

TEST_CASE("ticks come when they are due, and jobs run on the fabric's thread") {
  side us;
  us.events.next_tick_ = us.clock.now() + 10ms;
  us.carrier->start(us.events);
  std::promise<std::thread::id> ran;
  us.carrier->post([&] { ran.set_value(std::this_thread::get_id()); });
  CHECK(ran.get_future().get() != std::this_thread::get_id());
  std::this_thread::sleep_for(400ms);
  us.carrier->stop();
  REQUIRE(us.events.late_.size() == 20);
  std::ranges::sort(us.events.late_);
  CHECK(us.events.late_.front() >= 0ms);
  CHECK(us.events.late_[10] < 50ms);  // not only when the thread next wakes up for other reasons
}

TEST_CASE("after a disconnect nothing more arrives from that incarnation") {
  fabric_child child(1, 7);
  side us;
  us.carrier->start(us.events);
  us.meet(child, 7);
  us.carrier->send(there, bytes_of(1));  // leaves before the connection is closed
  us.carrier->disconnect(there);
  CHECK(eventually([&] { return child.ask_number("received") == 1; }));
  const size_t before = us.events.frames().size();
  child.send("burst 0 10");
  std::this_thread::sleep_for(100ms);
  CHECK(us.events.frames().size() == before);
}

TEST_CASE("a pool beyond the machine's memory is refused") {
  side us;
  CHECK_THROWS_WITH_AS(us.carrier->allocate(memory_kind::host, size_t{1} << 50),
                       doctest::Contains("lower limits.pool_mb"), std::runtime_error);
}
