#include "transport/fabric/inproc_fabric.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <future>
#include <mutex>
#include <numeric>

#include "transport/memory/leased_pull.hpp"
#include "transport/memory/slot_pool.hpp"

using namespace troupe;

namespace {

struct recorder final : fabric_events {
  void on_frame(std::span<const std::byte> bytes) override {
    int number;
    std::memcpy(&number, bytes.data(), sizeof number);
    std::lock_guard lock(mutex);
    frames.push_back(number);
    if (frames.size() == expected) all.set_value();
  }
  void on_lost(node_id peer, incarnation_id incarnation, std::string why) override {
    lost.set_value({peer, incarnation, std::move(why)});
  }
  void on_turn_end() override {}
  time_point tick_at() const override { return next; }
  void on_tick(time_point) override {
    next = never;
    ticked.set_value();
  }

  std::mutex mutex;
  std::vector<int> frames;
  size_t expected = 0;
  std::promise<void> all, ticked;
  std::promise<std::tuple<node_id, incarnation_id, std::string>> lost;
  time_point next = never;
};

struct fabric_pair {
  std::shared_ptr<inproc_network> network = make_inproc_network();
  machine_clock clock;
  recorder events_a, events_b;
  std::unique_ptr<fabric> a = make_inproc_fabric(network, node_id{0}, incarnation_id{1}, clock);
  std::unique_ptr<fabric> b = make_inproc_fabric(network, node_id{1}, incarnation_id{5}, clock);

  void start() {
    a->start(events_a);
    b->start(events_b);
    a->connect(node_id{1}, incarnation_id{5}, b->address());
    b->connect(node_id{0}, incarnation_id{1}, a->address());
  }
  ~fabric_pair() {
    a->stop();
    b->stop();
  }
};

std::vector<std::byte> frame(int number) {
  std::vector<std::byte> out(sizeof number);
  std::memcpy(out.data(), &number, sizeof number);
  return out;
}

pull_status pull(fabric& f, node_id from, uint64_t offset, std::span<std::byte> into) {
  std::promise<pull_status> done;
  f.pull(from, offset, into, [&](pull_status s) { done.set_value(s); });
  return done.get_future().get();
}

}  // namespace

TEST_CASE("frames between two fabrics of a process arrive in order") {
  fabric_pair p;
  p.events_b.expected = 10'000;
  p.start();
  for (int i = 0; i < 10'000; ++i) p.a->send(node_id{1}, frame(i));
  p.events_b.all.get_future().get();
  std::vector<int> expected(10'000);
  std::iota(expected.begin(), expected.end(), 0);
  CHECK(p.events_b.frames == expected);
  CHECK(p.b->stats().frames_in == 10'000);
}

TEST_CASE("a pull within a process copies from the pool, within its bounds, even of a fabric that stopped") {
  fabric_pair p;
  auto memory = p.b->allocate(memory_kind::host, 4096);
  memory.bytes[100] = std::byte{42};
  auto second = p.b->allocate(memory_kind::host, 4096);
  second.bytes[1] = std::byte{43};
  p.start();
  std::vector<std::byte> into(64);
  CHECK(pull(*p.a, node_id{1}, 90, into) == pull_status::ok);
  CHECK(into[10] == std::byte{42});
  CHECK(pull(*p.a, node_id{1}, 4096 - 63, into) == pull_status::refused);
  CHECK(pull(*p.a, node_id{2}, 0, into) == pull_status::lost);
  CHECK(pull(*p.b, node_id{1}, 100, into) == pull_status::ok);
  CHECK(into[0] == std::byte{42});
  CHECK(pull(*p.a, node_id{1}, second.offset, into) == pull_status::ok);
  CHECK(into[1] == std::byte{43});
}

TEST_CASE("a leased pull within a process copies scattered ranges while the lease holds") {
  fabric_pair p;
  slot_pool pool(node_id{1}, incarnation_id{5}, p.b->allocate(memory_kind::host, 4096));
  auto pages = p.b->allocate(memory_kind::host, 4096);
  pages.bytes[10] = std::byte{42};
  pages.bytes[4000] = std::byte{43};
  p.start();
  const auto lease = pool.take(0)->region;
  std::vector<std::byte> into(64);
  const auto pull_both = [&](uint64_t first) {
    std::promise<pull_status> done;
    const std::span<std::byte> all(into);
    pull_leased(*p.a, lease, {{first, all.first(10)}, {pages.offset + 4000, all.subspan(10)}},
                [&](pull_status s) { done.set_value(s); });
    return done.get_future().get();
  };
  CHECK(pull_both(pages.offset + 10) == pull_status::ok);
  CHECK(into[0] == std::byte{42});
  CHECK(into[10] == std::byte{43});
  CHECK(pull_both(pages.offset + 4096) == pull_status::refused);
  CHECK(p.a->stats().pulls == 1);
  pool.give_back(lease);
  CHECK(pull_both(pages.offset + 10) == pull_status::stale);
}

TEST_CASE("when a fabric stops, its peers lose it, and frames to it are discarded") {
  fabric_pair p;
  p.start();
  std::promise<void> connected;
  p.a->post([&] { connected.set_value(); });
  connected.get_future().get();
  p.b->stop();
  const auto [peer, incarnation, why] = p.events_a.lost.get_future().get();
  CHECK(peer == node_id{1});
  CHECK(incarnation == incarnation_id{5});
  p.a->send(node_id{1}, frame(1));
  p.a->stop();
  CHECK(p.a->stats().discarded_out == 1);
}

TEST_CASE("an address without a listener is reported as lost") {
  fabric_pair p;
  p.start();
  p.a->connect(node_id{7}, incarnation_id{1}, "inproc:7:1");
  const auto [peer, incarnation, why] = p.events_a.lost.get_future().get();
  CHECK(peer == node_id{7});
  CHECK(why == "no node listens at the address \"inproc:7:1\"");
}

TEST_CASE("an in-process fabric ticks when asked to") {
  fabric_pair p;
  p.events_a.next = p.clock.now() + 5ms;
  p.start();
  CHECK(p.events_a.ticked.get_future().wait_for(5s) == std::future_status::ready);
}
