// Pulls between two real processes over each fabric.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <future>
#include <iterator>
#include <span>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/transport/fabric/fabric_side.hpp"

using namespace troupe;
using namespace troupe::testing;

TEST_CASE("pulls copy the peer's region, over every path and many at a time") {
  for (const pull_path path : pull_paths()) {
    INFO("path ", static_cast<int>(path));
    fabric_child child(1, 7);
    auto options = test_options(0, 1);
    options.pulls = path;
    side us(options);
    us.carrier->start(us.events);
    us.meet(child, 7);
    struct offered {
      uint64_t offset, size, generation;
      int fill;
      std::vector<std::byte> into;
      std::promise<pull_status> done;
    };
    std::vector<offered> all(24);
    for (size_t i = 0; i < all.size(); ++i) {
      auto& o = all[i];
      o.fill = static_cast<int>(i + 1);
      const uint64_t size = i % 6 == 5 ? 3u << 20 : i % 3 == 0 ? i : i * 5000;
      std::istringstream(child.ask("take " + std::to_string(size) + " " + std::to_string(o.fill))) >>
          o.offset >> o.size >> o.generation;
      o.into.resize((o.size + 7) / 8 * 8 + 32);
    }
    for (int repetition = 0; repetition < 3; ++repetition) {
      for (auto& o : all) {
        std::ranges::fill(o.into, std::byte{0});
        o.done = {};
        const auto done = [&o](pull_status s) { o.done.set_value(s); };
        if (repetition == 1)
          us.carrier->pull_bulk(there, o.offset, o.into, done);
        else
          us.carrier->pull(there, o.offset, o.into, done);
      }
      for (auto& o : all) {
        auto result = o.done.get_future();
        REQUIRE(result.wait_for(20s) == std::future_status::ready);
        REQUIRE(result.get() == pull_status::ok);
        uint64_t words[2];
        std::memcpy(words, o.into.data(), 16);
        REQUIRE(words[0] == 7);
        REQUIRE(words[1] == o.generation);
        REQUIRE(std::memcmp(o.into.data() + o.into.size() - 16, words, 16) == 0);
        for (size_t at = 0; at < o.size; ++at) {
          if (o.into[16 + at] != static_cast<std::byte>(o.fill)) FAIL("wrong byte at ", at);
        }
      }
    }
    CHECK(us.carrier->stats().pulls == 3 * all.size());
    std::vector<std::byte> into(64);
    CHECK(us.pull(32u << 20, into) == pull_status::refused);
    CHECK(us.pull(~uint64_t{0} - 8, into) == pull_status::refused);
    CHECK(us.pull((32u << 20) - 64, into) == pull_status::ok);
  }
}

TEST_CASE("pulls that are asked for while others are answered get their whole answers") {
  fabric_child child(1, 7);
  side us(test_options(0, 1));
  us.carrier->start(us.events);
  us.meet(child, 7);
  uint64_t offset = 0, size = 0, generation = 0;
  std::istringstream(child.ask("take 131072 9")) >> offset >> size >> generation;  // what TLS sends in a turn
  for (int round = 0; round < 300; ++round) {
    std::vector<std::byte> into[3];
    std::promise<pull_status> done[3];
    for (size_t i = 0; i < std::size(into); ++i) {
      into[i].resize((size + 7) / 8 * 8 + 32);
      us.carrier->pull(there, offset, into[i], [&, i](pull_status s) { done[i].set_value(s); });
      std::this_thread::sleep_for(round % 30 * 10us);
    }
    for (size_t i = 0; i < std::size(into); ++i) {
      auto result = done[i].get_future();
      REQUIRE(result.wait_for(20s) == std::future_status::ready);
      REQUIRE(result.get() == pull_status::ok);
      REQUIRE(std::ranges::all_of(std::span(into[i]).subspan(16, size),
                                  [](auto b) { return b == std::byte{9}; }));
    }
  }
}

TEST_CASE("bulk pulls end once when their peer is disconnected, and their memory is left alone then") {
  fabric_child child(1, 7);
  side us(test_options(0, 1));
  us.carrier->start(us.events);
  us.meet(child, 7);
  constexpr size_t bytes = 4u << 20;
  std::vector<std::vector<std::byte>> into(7, std::vector<std::byte>(bytes));
  std::vector<std::promise<pull_status>> ends(into.size());
  std::atomic<size_t> ended{0};
  for (size_t i = 0; i < into.size(); ++i)
    us.carrier->pull_bulk(there, i * bytes, into[i], [&, i](pull_status s) {
      ++ended;
      ends[i].set_value(s);  // it would throw the second time
    });
  us.carrier->disconnect(there);
  for (auto& e : ends) {
    auto end = e.get_future();
    REQUIRE(end.wait_for(20s) == std::future_status::ready);
    const auto how = end.get();
    CHECK((how == pull_status::ok || how == pull_status::lost));
  }
  for (auto& memory : into) std::ranges::fill(memory, std::byte{9});
  us.carrier->stop();
  CHECK(ended == into.size());
  for (const auto& memory : into) CHECK(std::ranges::count(memory, std::byte{9}) == bytes);
}

TEST_CASE("each arena of a peer is pulled from within its own bounds") {
  for (const pull_path path : pull_paths()) {
    CAPTURE(static_cast<int>(path));
    fabric_child child(1, 7);
    auto options = test_options(0, 1);
    options.pulls = path;
    side us(options);
    us.carrier->start(us.events);
    us.meet(child, 7);
    const auto second = child.ask_number("second_arena");
    CHECK(second == uint64_t{1} << 48);
    std::vector<std::byte> into(100'000);
    REQUIRE(us.pull(second + 5, into) == pull_status::ok);
    bool equal = true;
    for (size_t i = 0; i < into.size(); ++i) equal = equal && into[i] == mixed_byte(1, i + 5);
    CHECK(equal);
    CHECK(us.pull(second + (1u << 20) - into.size(), into) == pull_status::ok);
    CHECK(us.pull(second + (1u << 20) - into.size() + 1, into) == pull_status::refused);
    CHECK(us.pull(second * 3, into) == pull_status::refused);
    CHECK(us.pull(second - 1, into) == pull_status::refused);
  }
}

TEST_CASE("a process pulls from its own pool, and not from unknown processes") {
  side us;
  const auto pool = us.carrier->allocate(memory_kind::host, 1u << 20);
  const auto arena = us.carrier->allocate(memory_kind::host, 1u << 16);
  us.carrier->start(us.events);
  std::ranges::fill(arena.bytes, std::byte{9});
  for (size_t i = 0; i < 4096; ++i) pool.bytes[i] = static_cast<std::byte>(i);
  std::vector<std::byte> into(4096);
  std::promise<pull_status> own, stranger;
  us.carrier->pull(here, 0, into, [&](pull_status s) { own.set_value(s); });
  CHECK(own.get_future().get() == pull_status::ok);
  CHECK(std::memcmp(into.data(), pool.bytes.data(), into.size()) == 0);
  std::promise<pull_status> second;
  us.carrier->pull(here, arena.offset, into, [&](pull_status s) { second.set_value(s); });
  CHECK(second.get_future().get() == pull_status::ok);
  CHECK(std::memcmp(into.data(), arena.bytes.data(), into.size()) == 0);
  us.carrier->pull(node_id{5}, 0, into, [&](pull_status s) { stranger.set_value(s); });
  CHECK(stranger.get_future().get() == pull_status::lost);
}

TEST_CASE("pulls from a peer that is killed end exactly once") {
  for (const pull_path path : pull_paths()) {
    fabric_child child(1, 3);
    auto options = test_options(0, 1);
    options.pulls = path;
    side us(options);
    us.carrier->start(us.events);
    us.meet(child, 3);
    std::vector<std::vector<std::byte>> into(50, std::vector<std::byte>(4u << 20));
    std::vector<std::atomic<int>> ended(into.size());
    for (size_t i = 0; i < into.size(); ++i) {
      us.carrier->pull(there, 0, into[i], [&ended, i](pull_status) { ++ended[i]; });
      if (i == 10) child.kill();
    }
    const auto all_ended = [&] { return std::ranges::all_of(ended, [](const auto& n) { return n == 1; }); };
    CHECK(eventually(all_ended, 5s));
    us.carrier->stop();
    CHECK(all_ended());
  }
}
