#include "transport/fabric/paced_fabric.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <optional>
#include <thread>

#include "tests/transport/fabric/paced_stage.hpp"
#include "transport/fabric/inproc_fabric.hpp"
#include "transport/memory/leased_pull.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

constexpr size_t chunk_bytes = 4u << 20;

double seconds_of(double bytes, double gbit_per_s) { return bytes * 8e-9 / gbit_per_s; }
const auto about = [](double seconds) { return doctest::Approx(seconds).epsilon(0.02); };

/// Pulls chunks from one node, four at a time.
struct chunk_reader {
  chunk_reader(paced_stage& s, uint32_t self, uint32_t owner, int chunks)
      : stage(s), via(s[self]), from(owner), left(chunks), into(chunk_bytes) {
    for (int i = 0; i < 4; ++i) pull();
  }
  void pull() {
    if (left == 0) return;
    --left;
    ++in_flight;
    via.pull(node_id{from}, 0, into, [this](pull_status how) {
      CHECK(how == pull_status::ok);
      pull();
      if (--in_flight == 0) finish = stage.time.now();
    });
  }
  double run() {
    while (!finish && stage.step(never - 1ns)) {
    }
    REQUIRE(finish);
    return to_seconds(*finish - began);
  }
  paced_stage& stage;
  fabric& via;
  uint32_t from;
  int left, in_flight = 0;
  std::vector<std::byte> into;
  time_point began = stage.time.now();
  std::optional<time_point> finish;
};

/// The ends of pulls of 1 MiB.
struct pull_ends {
  explicit pull_ends(size_t count) : into(count, std::vector<std::byte>(1u << 20)), how(count) {}
  void begin(fabric& via, uint32_t from, size_t which) {
    via.pull(node_id{from}, 0, into[which], [this, which](pull_status s) { how[which].push_back(s); });
  }
  bool all(pull_status s) const {
    return std::ranges::all_of(how, [&](const auto& h) { return h == std::vector{s}; });
  }
  bool none() const {
    return std::ranges::all_of(how, [](const auto& h) { return h.empty(); });
  }
  std::vector<std::vector<std::byte>> into;
  std::vector<std::vector<pull_status>> how;
};

std::vector<std::byte> numbered(size_t size) {
  std::vector<std::byte> out(size);
  for (size_t i = 0; i < size; ++i) out[i] = static_cast<std::byte>(i * 7 + size);
  return out;
}

}  // namespace

TEST_CASE("a pull ends when its bytes would have passed the slower of the two interfaces") {
  for (const auto& rates : {std::vector<double>{1, 10}, std::vector<double>{10, 1}}) {
    paced_stage s(rates);
    chunk_reader one(s, 0, 1, 1);
    CHECK(one.run() == about(seconds_of(chunk_bytes, 1)));
    CHECK(std::ranges::all_of(one.into, [](std::byte b) { return b == std::byte{2}; }));
  }
}

TEST_CASE("a leased pull of many ranges takes the time of its bytes") {
  paced_stage s({1, 10});
  std::vector<std::byte> into(chunk_bytes);
  std::vector<pulled_range> ranges;
  constexpr size_t each = chunk_bytes / 1024;
  for (size_t i = 0; i < 1024; ++i)
    ranges.push_back({(1023 - i) * each, std::span(into).subspan(i * each, each)});
  const auto began = s.time.now();
  std::optional<pull_status> how;
  std::optional<time_point> ended;
  // The carrier's memory is full of twos, and so is the lease.
  const region_ref lease{node_id{1}, {0x0202020202020202}, memory_kind::host, 0, 0, 0x0202020202020202};
  pull_leased(s[0], lease, ranges, [&](pull_status status) { how = status, ended = s.time.now(); });
  while (!how && s.step(never - 1ns)) {
  }
  CHECK(how == pull_status::ok);
  CHECK(to_seconds(*ended - began) == about(seconds_of(chunk_bytes, 1)));
  CHECK(std::ranges::all_of(into, [](std::byte b) { return b == std::byte{2}; }));
}

TEST_CASE("a pull ends no sooner than its copying") {
  paced_stage s({1000, 1000});
  chunk_reader one(s, 0, 1, 1);
  CHECK(one.run() == to_seconds(paced_carrier::copying));
}

TEST_CASE("a window of four chunks keeps an interface at its rate") {
  for (const double rate : {0.1, 1.0, 10.0}) {
    CAPTURE(rate);
    paced_stage s({rate, 2 * rate});
    CHECK(chunk_reader(s, 0, 1, 200).run() == about(seconds_of(200.0 * chunk_bytes, rate)));
  }
}

TEST_CASE("pulls of several processes share the interface of the owner") {
  paced_stage s({10, 10, 1});
  chunk_reader a(s, 0, 2, 100), b(s, 1, 2, 100);
  CHECK(a.run() == about(seconds_of(200.0 * chunk_bytes, 1)));
  CHECK(b.run() == about(seconds_of(200.0 * chunk_bytes, 1)));
}

TEST_CASE("pulls from several processes share the interface of the puller") {
  paced_stage s({1, 10, 10});
  chunk_reader a(s, 0, 1, 100), b(s, 0, 2, 100);
  CHECK(a.run() == about(seconds_of(200.0 * chunk_bytes, 1)));
  CHECK(b.run() == about(seconds_of(200.0 * chunk_bytes, 1)));
}

TEST_CASE("an interface is full duplex") {
  paced_stage s({1, 1});
  chunk_reader a(s, 0, 1, 50), b(s, 1, 0, 50);
  CHECK(a.run() == about(seconds_of(50.0 * chunk_bytes, 1)));
  CHECK(b.run() == about(seconds_of(50.0 * chunk_bytes, 1)));
}

TEST_CASE("frames and small pulls pass long ones, and frames arrive as they were sent") {
  paced_stage s({0.01, 0.01});
  pull_ends long_pull(1), small(1);
  long_pull.begin(s[0], 1, 0);
  small.into[0].resize(paced_bytes);
  small.begin(s[0], 1, 0);
  for (const size_t size : {0, 1, 8, 16, 17, 24, 25, 1000}) s[0].send(node_id{1}, numbered(size));
  s.run_for(5ms);
  CHECK(small.all(pull_status::ok));
  CHECK(long_pull.none());
  REQUIRE(s.nodes[1]->frames.size() == 8);
  for (const auto& f : s.nodes[1]->frames) CHECK(f == numbered(f.size()));
  CHECK(s.nodes[0]->frames.empty());
  s.run_for(1s);
  CHECK(long_pull.all(pull_status::ok));
}

TEST_CASE("the owner ticks at its own times, and each end of a pull belongs to a turn") {
  paced_stage s({1, 1});
  s.nodes[0]->next_tick = s.time.now() + 1ms;
  const auto first = s.nodes[0]->next_tick;
  pull_ends p(4);
  for (size_t i = 0; i < 4; ++i) p.begin(s[0], 1, i);
  s.run_for(30ms);
  CHECK(s.nodes[0]->ticks == std::vector{first, first + 10ms, first + 20ms});
  CHECK(p.how[2] == std::vector{pull_status::ok});
  const auto turns = s.nodes[0]->turns;
  s.run_for(10ms);
  CHECK(p.all(pull_status::ok));
  CHECK(s.nodes[0]->turns == turns + 1);
  s.run_for(1h);
  CHECK(s.nodes[0]->turns == turns + 1);
}

TEST_CASE("a refused pull ends at once") {
  paced_stage s({0.01, 0.01});
  std::vector<std::byte> into(1u << 20);
  std::vector<pull_status> how;
  s[0].pull(node_id{1}, 64u << 20, into, [&](pull_status h) { how.push_back(h); });
  s.run_for(2ms);
  CHECK(how == std::vector{pull_status::refused});
}

TEST_CASE("waiting pulls are lost once when their peer dies or the fabric ends them, others are not") {
  paced_stage s({0.1, 0.1, 0.1});
  pull_ends p(20), other(1);
  for (size_t i = 0; i < 10; ++i) p.begin(s[0], 1, i);
  other.begin(s[0], 2, 0);
  bool spares_other = true;
  s.run_for(5ms);  // all are copied
  for (size_t i = 10; i < 20; ++i) p.begin(s[0], 1, i);
  SUBCASE("it died") { s.nodes[0]->via->lose(node_id{1}); }
  SUBCASE("it was disconnected") { s[0].disconnect(node_id{1}); }
  SUBCASE("another incarnation of it was connected") {
    s[0].disconnect(node_id{1});
    s[0].connect(node_id{1}, incarnation_id{2}, "here");
  }
  SUBCASE("its connection was replaced") {
    s[0].connect(node_id{1}, incarnation_id{2}, "here");
    s.run_for(2ms);  // the carrier copies on
  }
  SUBCASE("a new incarnation began") {
    s[0].renew();
    spares_other = false;
  }
  SUBCASE("the fabric was stopped") {
    s[0].stop();
    CHECK(p.all(pull_status::lost));
    spares_other = false;
    s[0].stop();
  }
  s.run_for(1us);
  CHECK(p.all(pull_status::lost));
  CHECK(other.none() == spares_other);
  s.run_for(10s);
  CHECK(p.all(pull_status::lost));
  CHECK(other.all(spares_other ? pull_status::ok : pull_status::lost));
}

TEST_CASE("a pull after the stop is lost at once, and nothing is called afterwards") {
  paced_stage s({1, 1});
  s[0].stop();
  const auto turns = s.nodes[0]->turns;
  pull_ends p(1);
  p.begin(s[0], 1, 0);
  CHECK(p.all(pull_status::lost));
  s.run_for(10s);
  CHECK(p.all(pull_status::lost));
  CHECK(s.nodes[0]->turns == turns);
}

TEST_CASE("the loss of an earlier incarnation does not end pulls from the next one") {
  paced_stage s({1, 1});
  s[0].connect(node_id{1}, incarnation_id{2}, "here");
  pull_ends p(1);
  p.begin(s[0], 1, 0);
  s.nodes[0]->via->connect(node_id{1}, incarnation_id{1}, "here");  // whose loss is reported late
  s.run_for(2ms);
  s.nodes[0]->via->lose(node_id{1});
  CHECK(s.nodes[0]->losses == 1);
  s.run_for(1s);
  CHECK(p.all(pull_status::ok));
}

TEST_CASE("an owner that connects later than its puller answers then") {
  paced_stage s({1, 1}, false);
  s.connect(0, 1);
  pull_ends p(1);
  p.begin(s[0], 1, 0);
  s.run_for(1s);
  CHECK(p.none());
  s.connect(1, 0);
  s.run_for(1s);
  CHECK(p.all(pull_status::ok));
}

TEST_CASE("paced pulls between threads take their time and all end once") {
  const machine_clock time;
  const auto network = make_inproc_network();
  const auto paced = [&](uint32_t node) {
    return make_paced_fabric(make_inproc_fabric(network, node_id{node}, incarnation_id{1}, time),
                             {node_id{node}, 4}, time);
  };
  struct quiet final : fabric_events {
    void on_frame(std::span<const std::byte>) override {}
    void on_lost(node_id, incarnation_id, std::string) override {}
    void on_turn_end() override {}
    time_point tick_at() const override { return never; }
    void on_tick(time_point) override {}
  } events_a, events_b;
  const auto a = paced(0), b = paced(1);
  b->allocate(memory_kind::host, 1u << 20);
  a->start(events_a);
  b->start(events_b);
  a->connect(node_id{1}, incarnation_id{1}, b->address());
  b->connect(node_id{0}, incarnation_id{1}, a->address());
  constexpr size_t threads = 4, pulls = 25;
  std::atomic<size_t> ok{0}, lost{0};
  const auto began = time.now();
  const auto pull_all = [&](bool wait) {
    std::vector<std::thread> all;
    for (size_t t = 0; t < threads; ++t)
      all.emplace_back([&, wait] {
        std::vector<std::vector<std::byte>> into(pulls, std::vector<std::byte>(1u << 20));
        std::vector<std::promise<void>> ended(pulls);
        for (size_t i = 0; i < pulls; ++i)
          a->pull(node_id{1}, 0, into[i], [&, i](pull_status how) {
            ++(how == pull_status::ok ? ok : lost);
            ended[i].set_value();  // throws if it is called twice
          });
        if (!wait) b->stop();
        for (auto& e : ended) e.get_future().wait();
      });
    for (auto& t : all) t.join();
  };
  pull_all(true);
  CHECK(ok == threads * pulls);
  CHECK(to_seconds(time.now() - began) > 0.95 * seconds_of(threads * pulls * double{1u << 20}, 4));
  pull_all(false);  // its owner stops meanwhile
  CHECK(ok + lost == 2 * threads * pulls);
  CHECK(lost > 0);
  a->stop();
  CHECK(ok + lost == 2 * threads * pulls);
}
