// A fabric's handling of peers that die, stop, come back or lie about their address.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "tests/transport/fabric/fabric_side.hpp"

using namespace troupe;
using namespace troupe::testing;

TEST_CASE("a killed peer is reported within a second, and its next incarnation is reached") {
  side us;
  us.carrier->start(us.events);
  for (uint64_t incarnation = 1; incarnation <= 3; ++incarnation) {
    INFO("incarnation ", incarnation);
    fabric_child child(1, incarnation);
    us.meet(child, incarnation);
    const size_t before = us.events.frames().size();
    REQUIRE(child.ask("burst 0 20") == "ok");
    REQUIRE(us.events.wait_for_frames(before + 20));
    us.carrier->send(there, bytes_of(incarnation));
    REQUIRE(eventually([&] { return child.ask_number("received") == 1; }));
    const auto killed = std::chrono::steady_clock::now();
    child.kill();
    REQUIRE(us.events.wait_for_losses(incarnation));
    const duration took = std::chrono::steady_clock::now() - killed;
    MESSAGE("noticed after ", to_ms(took), " ms");
    CHECK(took < 1500ms);
    CHECK(us.events.losses().back().peer == there);
    CHECK(us.events.losses().back().incarnation.value == incarnation);
    CHECK(!us.events.losses().back().why.empty());
  }
  CHECK(us.events.losses().size() == 3);
}

TEST_CASE("a damaged address is refused with a reason and nothing is dialled") {
  fabric_child child(1, 7);
  side us;
  us.carrier->start(us.events);
  size_t refused = 0;
  for (size_t at = 0; at < child.address().size(); ++at) {
    std::string address = child.address();
    address[at] = static_cast<char>(address[at] ^ (1 << at % 8));
    us.carrier->connect(there, incarnation_id{7}, address);
    REQUIRE(us.events.wait_for_losses(++refused));
  }
  us.carrier->connect(there, incarnation_id{7}, "");
  us.carrier->connect(node_id{2}, incarnation_id{7}, child.address());
  REQUIRE(us.events.wait_for_losses(refused + 2));
  const auto losses = us.events.losses();
  CHECK(losses[20].why == "its address is damaged (checksum)");
  CHECK(losses[refused].why == "its address is truncated (0 bytes)");
  CHECK(losses[refused + 1].why == "its address is that of node 1");
  us.meet(child, 7);
  us.carrier->send(there, bytes_of(1));
  CHECK(eventually([&] { return child.ask_number("received") == 1; }));
}

TEST_CASE("a process that falls behind with sending breaks its connections") {
  fabric_child child(1, 7);
  auto options = test_options(0, 1);
  options.max_queued_bytes = 1u << 20;
  side us(options);
  us.carrier->start(us.events);
  us.meet(child, 7);
  us.carrier->send(there, bytes_of(0));
  REQUIRE(eventually([&] { return child.ask_number("received") == 1; }));
  std::promise<void> go_on;
  us.carrier->post([&] { go_on.get_future().wait(); });  // blocks the progress thread
  for (uint64_t i = 1; i <= 100; ++i) us.carrier->send(there, bytes_of(i, 64 << 10));
  CHECK(us.events.losses().empty());
  go_on.set_value();
  REQUIRE(us.events.wait_for_losses(1));
  CHECK(us.events.losses()[0].why == "this process fell behind with sending");
  const auto s = us.carrier->stats();
  CHECK(s.frames_out + s.discarded_out == 101);
  CHECK(s.discarded_out > 0);
  us.meet(child, 8);
  us.carrier->send(there, bytes_of(101));
  CHECK(eventually([&] { return child.ask_number("received") >= 2; }));
  CHECK(child.ask("ordered") == "1");
}

TEST_CASE("a storm of frames to a stopped peer stays bounded and blocks no sender") {
  fabric_child child(1, 7);
  auto options = test_options(0, 1);
  options.max_unsent_frames = 4096;
  options.max_unsent_bytes = 16u << 20;
  options.max_queued_bytes = 16u << 20;
  side us(options);
  us.carrier->start(us.events);
  us.meet(child, 7);
  us.carrier->send(there, bytes_of(0, 64));
  REQUIRE(eventually([&] { return child.ask_number("received") == 1; }));
  child.stop();
  const int64_t before = resident_bytes();
  duration slowest{};
  for (uint64_t i = 1; i <= 100'000; ++i) {
    const auto began = std::chrono::steady_clock::now();
    us.carrier->send(there, bytes_of(i, i % 100 == 0 ? 200'000 : 64));
    slowest = std::max<duration>(slowest, std::chrono::steady_clock::now() - began);
  }
  const int64_t grew = resident_bytes() - before;
  MESSAGE("slowest send ", to_ms(slowest), " ms, grew by ", grew >> 20, " MiB");
  CHECK(slowest < 200ms);
  CHECK(grew < sanitizer_factor * (150l << 20));
  const auto settled = [&] {
    const auto s = us.carrier->stats();
    return s.frames_out + s.discarded_out == 100'001;
  };
  CHECK(eventually(settled));
  CHECK(us.carrier->stats().discarded_out > 0);
  REQUIRE(us.events.wait_for_losses(1));  // a discarded order could otherwise hold a slot forever
  SUBCASE("after its stop the peer has the first frames, and both can connect again") {
    child.go_on();
    CHECK(child.ask_number("received") <= us.carrier->stats().frames_out);
    CHECK(child.ask("ordered") == "1");
    child.renew();  // as a node does that was declared dead
    us.meet(child, 8);
    us.carrier->send(there, bytes_of(100'001));
    CHECK(eventually([&] { return child.ask_number("last") == 100'001; }));
    CHECK(us.events.losses().size() == 1);
  }
  SUBCASE("waiting for a stopped peer costs at most a tenth of a core, also after another's frames") {
    fabric_child other(2, 7);
    other.connect_to(0, 1, us.carrier->address());
    us.carrier->connect(node_id{2}, incarnation_id{7}, other.address());
    for (size_t burst = 1; burst <= 10; ++burst) {  // some come while this process sleeps
      REQUIRE(other.ask("burst 0 1") == "ok");
      REQUIRE(us.events.wait_for_frames(burst));
      std::this_thread::sleep_for(10ms);
    }
    const auto used = cpu_time();
    std::this_thread::sleep_for(1s);
    const auto cost = cpu_time() - used;
    MESSAGE("cost ", to_ms(cost), " ms");
    CHECK(cost < sanitizer_factor * 100ms);
    child.go_on();
  }
  SUBCASE("stopping a fabric does not wait for a stopped peer") {
    std::vector<std::byte> into(1u << 20);
    std::atomic<int> ended{0};
    us.carrier->pull(there, 0, into, [&](pull_status) { ++ended; });
    const auto began = std::chrono::steady_clock::now();
    us.carrier->stop();
    CHECK(std::chrono::steady_clock::now() - began < 2s);
    CHECK(ended == 1);
    us.carrier->pull(there, 0, into, [&](pull_status s) { ended += s == pull_status::lost ? 10 : 100; });
    CHECK(ended == 11);
  }
}

TEST_CASE("two disconnected processes connect again, also under a new incarnation") {
  fabric_child child(1, 7);
  side us;
  us.carrier->start(us.events);
  us.meet(child, 7);
  REQUIRE(child.ask("burst 0 20") == "ok");
  REQUIRE(us.events.wait_for_frames(20));
  us.carrier->disconnect(there);
  us.meet(child, 8);
  us.carrier->send(there, bytes_of(1));
  CHECK(eventually([&] { return child.ask_number("received") == 1; }));
  REQUIRE(child.ask("burst 0 20") == "ok");
  CHECK(us.events.wait_for_frames(40));
  child.kill();
  REQUIRE(us.events.wait_for_losses(1));
  CHECK(us.events.losses()[0].incarnation == incarnation_id{8});
}

TEST_CASE("successive incarnations on both sides are independent") {
  fabric_child child(1, 7);
  side us;
  us.carrier->start(us.events);
  for (uint64_t incarnation = 8; incarnation < 48; ++incarnation) {
    INFO("incarnation ", incarnation);
    us.meet(child, incarnation);
    const size_t before = us.events.frames().size();
    for (int i = 0; i < 50; ++i) us.carrier->send(there, bytes_of(incarnation, 1000));
    std::vector<std::byte> into(4096);
    std::promise<void> pulled;
    us.carrier->pull(there, 0, into, [&](pull_status) { pulled.set_value(); });
    if (incarnation % 4 != 0) {  // else it ends in the middle of the traffic
      REQUIRE(child.ask("burst 0 20") == "ok");
      REQUIRE(us.events.wait_for_frames(before + 20));
      REQUIRE(eventually([&] { return child.ask_number("last") == incarnation; }));
    }
    const auto address = us.carrier->address();
    if (incarnation % 2 == 0)
      us.carrier->renew();
    else
      us.carrier->disconnect(there);
    CHECK((us.carrier->address() == address) == (incarnation % 2 != 0));
    if (incarnation % 3 != 0) child.renew();
    REQUIRE(pulled.get_future().wait_for(10s) == std::future_status::ready);
  }
  const size_t before = us.events.frames().size();
  us.meet(child, 48);
  REQUIRE(child.ask("burst 0 20") == "ok");
  CHECK(us.events.wait_for_frames(before + 20));
  const auto frames = us.events.frames();
  for (uint64_t i = 0; i < 20; ++i) CHECK(is_mixed(frames[frames.size() - 20 + i], i));
  CHECK(child.ask("ordered") == "1");
}

TEST_CASE("a new incarnation begins although the peer of the former one has stopped") {
  fabric_child frozen(1, 7);
  side us;
  us.carrier->start(us.events);
  us.meet(frozen, 7);
  us.carrier->send(there, bytes_of(0));
  REQUIRE(eventually([&] { return frozen.ask_number("received") == 1; }));
  frozen.stop();
  for (uint64_t i = 0; i < 100; ++i) us.carrier->send(there, bytes_of(i, 200'000));
  const auto began = std::chrono::steady_clock::now();
  us.carrier->renew();
  CHECK(std::chrono::steady_clock::now() - began < 1s);
  frozen.go_on();
  us.meet(frozen, 8);
  us.carrier->send(there, bytes_of(1'000'000));
  CHECK(eventually([&] { return frozen.ask_number("last") == 1'000'000; }));
}

TEST_CASE("frames without the secret are discarded, for any claimed incarnation and stream") {
  fabric_child child(1, 7);
  side us;
  us.carrier->start(us.events);
  us.meet(child, 7);
  REQUIRE(child.ask("burst 0 20") == "ok");
  REQUIRE(us.events.wait_for_frames(20));
  side stranger(test_options(1, ~0ull));
  stranger.carrier->start(stranger.events);
  stranger.carrier->connect(here, incarnation_id{1}, with_another_secret(us.carrier->address()));
  for (uint64_t i = 0; i < 100; ++i) stranger.carrier->send(here, bytes_of(i));
  std::vector<std::byte> into(100);
  stranger.carrier->pull(here, 0, into, [](pull_status) {});
  // TLS refuses the connection; UCX has none that it could refuse.
  REQUIRE(eventually(
      [&] { return us.carrier->stats().discarded_in >= 100 || !stranger.events.losses().empty(); }));
  REQUIRE(child.ask("burst 0 20") == "ok");
  CHECK(us.events.wait_for_frames(40));
  CHECK(us.events.frames().size() == 40);
  CHECK(us.events.losses().empty());
}
