#include "transport/fabric/sim_fabric.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>

#include "tools/sim/timeline.hpp"
#include "transport/memory/leased_pull.hpp"
#include "transport/memory/pull_check.hpp"
#include "transport/memory/slot_pool.hpp"

using namespace troupe;
using namespace troupe::sim;

namespace {

constexpr node_id node_a{0}, node_b{1};

struct listener final : fabric_events {
  std::vector<int> frames;
  std::vector<incarnation_id> lost;
  size_t turns = 0;
  void on_frame(std::span<const std::byte> bytes) override { frames.push_back(static_cast<int>(bytes[0])); }
  void on_lost(node_id, incarnation_id incarnation, std::string) override { lost.push_back(incarnation); }
  void on_turn_end() override { ++turns; }
  time_point tick_at() const override { return never; }
  void on_tick(time_point) override {}
};

/// Nodes n0, n1, ... with the links.
cluster_spec linked_nodes(size_t nodes, std::vector<link_spec> links) {
  cluster_spec c;
  c.nodes.resize(nodes);
  for (size_t i = 0; i < nodes; ++i) c.nodes[i].name = "n" + std::to_string(i);
  c.links = std::move(links);
  return c;
}

/// Long pulls between nodes of a cluster.
struct long_pulls {
  explicit long_pulls(const cluster_spec& c) : time(1, c.nodes.size()), network(time, c, {}) {
    clocks.reserve(c.nodes.size());
    for (uint32_t i = 0; i < c.nodes.size(); ++i) {
      clocks.emplace_back(time.truth(), 1h, 0);
      time.set_clock(node_id{i}, clocks.back());
      time.begin_process(node_id{i});
    }
  }
  /// Milliseconds until each is complete, when all begin now.
  std::vector<double> run(const std::vector<std::pair<uint32_t, uint32_t>>& pulls, uint64_t bytes) {
    std::vector<double> ended(pulls.size(), -1);
    const auto began = time.now();
    for (size_t i = 0; i < pulls.size(); ++i)
      network.move(node_id{pulls[i].first}, node_id{pulls[i].second}, bytes,
                   [&, i] { ended[i] = to_ms(time.now() - began); });
    while (time.step(began + 10s)) {
    }
    return ended;
  }
  timeline time;
  sim_network network;
  std::vector<sim_clock> clocks;
};

constexpr uint64_t megabytes_125 = 125'000'000;  // 1 s at 1 Gbit/s
const auto near_to = [](double ms) { return doctest::Approx(ms).epsilon(0.001); };

cluster_spec two_nodes(double gbit_per_s) {
  cluster_spec c;
  c.nodes.resize(2);
  c.nodes[0].name = "a";
  c.nodes[1].name = "b";
  c.links.push_back({{"a", "b"}, gbit_per_s});
  return c;
}

/// Two connected nodes; a's process is number 1, b's number 2.
struct pair_of_nodes {
  timeline time;
  sim_network network;
  sim_memory memory;
  sim_clock clock_a{time.truth(), 1h, 0}, clock_b{time.truth(), 5h, 0};
  std::unique_ptr<fabric> fabric_a, fabric_b;
  listener at_a, at_b;
  registered_memory pool_b;

  explicit pair_of_nodes(uint64_t seed, double gbit_per_s = 10)
      : time(seed, 2), network(time, two_nodes(gbit_per_s), {}) {
    time.set_clock(node_a, clock_a);
    time.set_clock(node_b, clock_b);
    time.begin_process(node_a);
    time.begin_process(node_b);
    fabric_a = make_sim_fabric(time, network, memory, node_a, 1, clock_a);
    fabric_b = make_sim_fabric(time, network, memory, node_b, 2, clock_b);
    pool_b = fabric_b->allocate(memory_kind::host, 1 << 16);
    fabric_a->start(at_a);
    fabric_b->start(at_b);
    fabric_a->connect(node_b, {1}, fabric_b->address());
    fabric_b->connect(node_a, {1}, fabric_a->address());
  }
  void run_for(duration d) {
    const auto until = time.now() + d;
    while (time.step(until)) {
    }
  }
  void send(int from, int to) {
    for (int i = from; i < to; ++i) fabric_a->send(node_b, {static_cast<std::byte>(i)});
  }
  std::optional<pull_status> pull(uint64_t offset, std::span<std::byte> into, duration wait) {
    std::optional<pull_status> result;
    fabric_a->pull(node_b, offset, into, [&](pull_status s) { result = s; });
    run_for(wait);
    return result;
  }
};

bool ascending(const std::vector<int>& v) {
  for (size_t i = 0; i < v.size(); ++i)
    if (v[i] != static_cast<int>(i)) return false;
  return true;
}

}  // namespace

TEST_CASE("simulated frames arrive in order, whatever their jitter") {
  pair_of_nodes n(1);
  for (int i = 0; i < 100; ++i) {
    n.send(i, i + 1);
    n.run_for(1us);
  }
  n.run_for(10ms);
  CHECK(n.at_b.frames.size() == 100);
  CHECK(ascending(n.at_b.frames));
}

TEST_CASE("a cut loses a suffix that was sent, and both sides notice") {
  size_t whole = 0, partly = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    pair_of_nodes n(seed);
    n.send(0, 20);
    n.network.begin_cut(node_a, node_b, n.time.now() + 20ms);
    n.send(20, 30);
    n.run_for(20ms);
    n.network.end_cut(node_a, node_b);
    n.run_for(20ms);
    CHECK(n.fabric_a->stats().frames_out == 30);
    CHECK(n.at_b.frames.size() <= 20);
    CHECK(ascending(n.at_b.frames));
    CHECK(n.at_a.lost == std::vector{incarnation_id{1}});
    CHECK(n.at_b.lost == std::vector{incarnation_id{1}});
    whole += n.at_b.frames.size() == 20;
    partly += !n.at_b.frames.empty() && n.at_b.frames.size() < 20;
  }
  CHECK(partly > 0);
  CHECK(whole < 20);
}

TEST_CASE("a stalled link delivers everything in one turn when it goes on") {
  pair_of_nodes n(1);
  n.run_for(1ms);
  n.network.begin_stall(node_a, node_b);
  n.send(0, 50);
  n.run_for(100ms);
  CHECK(n.at_b.frames.empty());
  const auto turns = n.at_b.turns;
  n.network.end_stall(node_a, node_b);
  n.run_for(1ms);
  CHECK(n.at_b.frames.size() == 50);
  CHECK(ascending(n.at_b.frames));
  CHECK(n.at_b.turns == turns + 1);
}

TEST_CASE("the two directions of a link do not share its bandwidth, transfers of one direction do") {
  pair_of_nodes n(1, 1);  // 1 Gbit/s: 1 ms for 125 kB
  const auto first = n.network.transfer(node_a, node_b, 125'000);
  const auto second = n.network.transfer(node_a, node_b, 125'000);
  const auto back = n.network.transfer(node_b, node_a, 125'000);
  CHECK(to_ms(first) == doctest::Approx(1).epsilon(0.5));
  CHECK(to_ms(second) == doctest::Approx(2).epsilon(0.25));
  CHECK(to_ms(back) == doctest::Approx(1).epsilon(0.5));
}

TEST_CASE("a slow link is slow as long as it lasts") {
  pair_of_nodes n(1, 10);
  n.network.begin_slow(node_a, node_b, 0.01);
  CHECK(n.network.transfer(node_a, node_b, 1250) > 1ms);
  n.run_for(5ms);
  n.network.end_slow(node_a, node_b, 0.01);
  CHECK(n.network.transfer(node_a, node_b, 1250) - n.time.now() < 1ms);
}

TEST_CASE("the memory of a dead process can be pulled from until it is forgotten") {
  pair_of_nodes n(1);
  slot_pool pool(node_b, {1}, n.pool_b);
  auto slot = pool.take(64);
  std::memset(slot->payload.data(), 7, 64);
  std::vector<std::byte> into(pulled_bytes(slot->region));
  n.network.crash(node_b, false);
  n.fabric_b->stop();
  n.time.end_process(node_b);
  CHECK(n.pull(slot->region.offset, into, 50ms) == pull_status::ok);
  const auto payload = verify(slot->region, into);
  REQUIRE(payload);
  CHECK(payload->front() == std::byte{7});
  n.memory.forget(2);
  CHECK(n.pull(slot->region.offset, into, 50ms) == pull_status::lost);
}

TEST_CASE("a slot that is reused under a pull can come out mixed, and never verifies then") {
  size_t mixed = 0, good = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    pair_of_nodes n(seed);
    slot_pool pool(node_b, {1}, n.pool_b);
    auto first = pool.take(64);
    std::memset(first->payload.data(), 1, 64);
    std::vector<std::byte> into(pulled_bytes(first->region));
    std::optional<pull_status> done;
    n.fabric_a->pull(node_b, first->region.offset, into, [&](pull_status s) { done = s; });
    n.run_for(duration{static_cast<int64_t>(20'000 + seed * 500)});
    pool.give_back(first->region);
    auto second = pool.take(64);
    REQUIRE(second->region.offset == first->region.offset);
    std::memset(second->payload.data(), 2, 64);
    n.run_for(50ms);
    REQUIRE(done == pull_status::ok);
    size_t old_bytes = 0;
    for (size_t i = 16; i < 80; ++i) old_bytes += into[i] == std::byte{1};
    mixed += old_bytes > 0 && old_bytes < 64;
    if (!verify(first->region, into)) continue;
    ++good;
    CHECK(old_bytes == 64);
  }
  CHECK(mixed > 0);
  CHECK(good > 0);
}

TEST_CASE("pages that are reused under a leased pull can come out mixed, and are always noticed") {
  size_t mixed = 0, good = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    pair_of_nodes n(seed);
    slot_pool pool(node_b, {1}, n.pool_b);
    const auto pages = n.fabric_b->allocate(memory_kind::host, 4096);
    std::ranges::fill(pages.bytes, std::byte{1});
    const auto lease = pool.take(0)->region;
    std::vector<std::byte> into(300);
    std::vector<pulled_range> ranges;
    for (const uint64_t page : {3, 0, 2})
      ranges.push_back({pages.offset + page * 1000, std::span(into).subspan(ranges.size() * 100, 100)});
    std::optional<pull_status> done;
    pull_leased(*n.fabric_a, lease, ranges, [&](pull_status s) { done = s; });
    n.run_for(duration{static_cast<int64_t>(20'000 + seed * 500)});
    pool.give_back(lease);
    std::ranges::fill(pages.bytes, std::byte{2});
    n.run_for(50ms);
    REQUIRE(done);
    const auto old_bytes = std::ranges::count(into, std::byte{1});
    mixed += old_bytes > 0 && old_bytes < 300;
    good += done == pull_status::ok;
    CHECK(done == (old_bytes == 300 && done == pull_status::ok ? pull_status::ok : pull_status::stale));
  }
  CHECK(mixed > 0);
  CHECK(good > 0);
}

TEST_CASE("a leased pull takes the time of its bytes, however many ranges they are in") {
  const auto seconds = [](uint64_t ranges) {
    pair_of_nodes n(7, 0.1);
    slot_pool pool(node_b, {1}, n.pool_b);
    constexpr uint64_t bytes = 8u << 20;
    const auto pages = n.fabric_b->allocate(memory_kind::host, bytes);
    const auto lease = pool.take(0)->region;
    std::vector<std::byte> into(bytes);
    std::vector<pulled_range> all;
    for (uint64_t i = 0, each = bytes / ranges; i < ranges; ++i)
      all.push_back({pages.offset + i * each, std::span(into).subspan(i * each, each)});
    std::optional<duration> ended;
    const auto began = n.time.now();
    pull_leased(*n.fabric_a, lease, all, [&](pull_status s) {
      CHECK(s == pull_status::ok);
      ended = n.time.now() - began;
    });
    n.run_for(10s);
    REQUIRE(ended);
    return to_seconds(*ended);
  };
  CHECK(seconds(1) == doctest::Approx((8u << 20) * 8 / 1e8).epsilon(0.01));
  CHECK(seconds(4096) == doctest::Approx(seconds(1)).epsilon(0.01));
  CHECK(seconds(512) == seconds(512));
}

TEST_CASE("a pull beyond the pool is refused, and one from an unknown process is lost") {
  pair_of_nodes n(1);
  std::vector<std::byte> into(64);
  CHECK(n.pull((1 << 16) - 32, into, 50ms) == pull_status::refused);
  n.fabric_a->disconnect(node_b);
  CHECK(n.pull(0, into, 50ms) == pull_status::lost);
}

TEST_CASE("a frame for a process that has been replaced does not reach its successor") {
  pair_of_nodes n(1);
  n.network.crash(node_b, false);
  n.fabric_b->stop();
  n.time.end_process(node_b);
  n.time.begin_process(node_b);
  listener successor;
  auto again = make_sim_fabric(n.time, n.network, n.memory, node_b, 3, n.clock_b);
  again->start(successor);
  n.send(0, 5);
  n.run_for(10ms);
  CHECK(successor.frames.empty());
  CHECK(again->stats().discarded_in == 5);
}

TEST_CASE("long pulls share an interface, and each direction has its whole rate") {
  long_pulls n(linked_nodes(3, {{.nodes = {"n0", "n1", "n2"}, .gbit_per_s = 1}}));
  const auto ms = n.run({{0, 1}, {0, 2}, {1, 0}}, megabytes_125);
  CHECK(ms[0] == near_to(2000));
  CHECK(ms[1] == near_to(2000));
  CHECK(ms[2] == near_to(1000));
}

TEST_CASE("frames and short pulls do not wait for long ones") {
  long_pulls n(linked_nodes(2, {{.nodes = {"n0", "n1"}, .gbit_per_s = 1}}));
  n.network.move(node_id{0}, node_id{1}, megabytes_125, [] {});
  const auto arrival = n.network.transfer(node_id{0}, node_id{1}, 1000);
  CHECK(to_ms(arrival - n.time.now()) < 1);
}

TEST_CASE("long pulls between leaves share the uplinks, those inside a leaf do not use them") {
  long_pulls n(
      linked_nodes(4, {{.nodes = {"n0", "n1"}, .gbit_per_s = 10, .leaf = "left", .uplink_gbit_per_s = 1},
                       {.nodes = {"n2", "n3"}, .gbit_per_s = 10, .leaf = "right", .uplink_gbit_per_s = 4}}));
  auto ms = n.run({{0, 2}, {1, 3}}, megabytes_125);
  CHECK(ms[0] == near_to(2000));
  CHECK(ms[1] == near_to(2000));
  ms = n.run({{0, 1}, {2, 1}}, megabytes_125);
  CHECK(ms[0] == near_to(111.1));  // what the uplink leaves of n1's interface
  CHECK(ms[1] == near_to(1000));
}

TEST_CASE("long pulls in a scale-up domain have its rate, and leave the interfaces to others") {
  const link_spec in_domain{
      .nodes = {"n0", "n1"}, .gbit_per_s = 1, .scale_up_domain = "d", .scale_up_gbit_per_s = 10};
  long_pulls n(linked_nodes(3, {in_domain, {.nodes = {"n2"}, .gbit_per_s = 1}}));
  const auto ended = n.run({{0, 1}, {0, 2}}, megabytes_125);
  CHECK(ended[0] == near_to(100));
  CHECK(ended[1] == near_to(1000));
  CHECK(n.network.share_domain(node_id{0}, node_id{1}));
  CHECK(!n.network.share_domain(node_id{0}, node_id{2}));
  CHECK(!n.network.share_domain(node_id{2}, node_id{2}));  // in no domain
}

TEST_CASE("a slow link limits long pulls that are under way, until it ends") {
  long_pulls n(linked_nodes(3, {{.nodes = {"n0", "n1", "n2"}, .gbit_per_s = 1}}));
  n.time.at(500ms, sim_event::fault, [&] { n.network.begin_slow(node_id{1}, node_id{0}, 0.1); });
  n.time.at(1500ms, sim_event::fault, [&] { n.network.end_slow(node_id{1}, node_id{0}, 0.1); });
  CHECK(n.run({{0, 1}}, megabytes_125)[0] == near_to(1900));  // 0.5 + 0.1 in the slow second, 0.4 left
}

TEST_CASE("pulls of a process that ended leave their bandwidth to others") {
  long_pulls n(linked_nodes(3, {{.nodes = {"n0", "n1", "n2"}, .gbit_per_s = 1}}));
  n.time.at(1s, sim_event::fault, [&] {
    n.network.crash(node_id{1}, true);
    n.time.end_process(node_id{1});
  });
  const auto ms = n.run({{0, 1}, {0, 2}}, megabytes_125);
  CHECK(ms[0] == -1);
  CHECK(ms[1] == near_to(1500));
}
