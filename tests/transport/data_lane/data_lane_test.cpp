#include "transport/data_lane/data_lane.hpp"

#include <doctest/doctest.h>

#include <condition_variable>
#include <mutex>
#include <numeric>
#include <thread>

#include "messages/wire/codec.hpp"
#include "transport/fabric/inproc_fabric.hpp"

using namespace troupe;

namespace {

/// One node: its own clock, a lane over an in-process fabric, and the lane's events.
class lane_node final : public data_lane_events {
 public:
  lane_node(std::shared_ptr<inproc_network> network, uint32_t id, incarnation_id incarnation,
            duration clock_offset)
      : clock_(clock_offset),
        fabric_(make_inproc_fabric(std::move(network), node_id{id}, incarnation, clock_)),
        lane_(*fabric_, clock_, *this, {node_id{id}, incarnation, incarnation.value * 1000, 2, 10ms}) {
    lane_.start();
  }
  ~lane_node() override { lane_.stop(); }

  data_lane& lane() { return lane_; }
  fabric& carrier() { return *fabric_; }
  time_point now() const { return clock_.now(); }
  void meet(lane_node& other, uint32_t id) {
    const auto a = other.fabric_->address();
    lane_.connect(node_id{id}, other.lane_.incarnation(), other.lane_.secret(), {a.begin(), a.end()});
  }

  /// False if the condition does not hold within a few seconds.
  bool wait_for(const std::function<bool()>& condition) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(10), condition);
  }

  // Guarded by the lock of wait_for.
  std::vector<inbound> received;
  int synchronised = 0;
  int lost = 0;

  void deliver(std::vector<inbound>& messages) override {
    std::lock_guard lock(mutex_);
    for (auto& m : messages) received.push_back(std::move(m));
    changed_.notify_all();
  }
  void on_turn_end() override {}
  void on_synchronised(node_id, incarnation_id) override {
    std::lock_guard lock(mutex_);
    ++synchronised;
    changed_.notify_all();
  }
  void on_lost(node_id, incarnation_id, std::string) override {
    std::lock_guard lock(mutex_);
    ++lost;
    changed_.notify_all();
  }

 private:
  machine_clock clock_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::unique_ptr<fabric> fabric_;
  data_lane lane_;
};

struct lane_pair {
  std::shared_ptr<inproc_network> network = make_inproc_network();
  lane_node a{network, 0, incarnation_id{100}, 0h};
  lane_node b{network, 1, incarnation_id{200}, 5h};
  lane_pair() {
    a.meet(b, 1);
    b.meet(a, 0);
    REQUIRE(a.wait_for([&] { return a.synchronised == 1; }));
    REQUIRE(b.wait_for([&] { return b.synchronised == 1; }));
  }
};

const address queue_on_b{node_id{1}, {}, role::model_queue, 3};
const address gateway_on_a{node_id{0}, {}, role::gateway, 0};

}  // namespace

TEST_CASE("each answered heartbeat counts as a round trip, whatever the difference of the clocks") {
  lane_pair nodes;
  const auto& heartbeats = nodes.a.lane().stats().heartbeats;
  const auto counts = heartbeats.counts();
  const auto total = std::accumulate(counts.begin(), counts.end(), uint64_t{0});
  CHECK(total > 0);
  CHECK(heartbeats.sum() >= 0ns);
  CHECK(heartbeats.sum() < 1min);  // the clocks are five hours apart
}

TEST_CASE("a deadline is converted to the receiver's clock, hours apart, and never later than sent") {
  lane_pair nodes;
  submit s;
  s.requests.resize(1);
  s.requests[0].deadline = nodes.a.now() + 100ms;
  s.requests[0].arrival = never;
  const auto meant = nodes.b.now() + 100ms;
  nodes.a.lane().send(gateway_on_a, queue_on_b, s);
  REQUIRE(nodes.b.wait_for([&] { return nodes.b.received.size() == 1; }));
  const auto& m = nodes.b.received[0];
  CHECK(m.from == address{node_id{0}, incarnation_id{100}, role::gateway, 0});
  CHECK(m.to == address{node_id{1}, incarnation_id{200}, role::model_queue, 3});
  const auto& r = std::get<submit>(m.body).requests[0];
  CHECK(r.deadline <= meant);
  CHECK(r.deadline > meant - 90ms);
  CHECK(r.arrival == never);
}

TEST_CASE("messages arrive in the order they were sent") {
  lane_pair nodes;
  for (uint64_t i = 0; i < 500; ++i) nodes.a.lane().send(gateway_on_a, queue_on_b, cancel{request_id{i}});
  REQUIRE(nodes.b.wait_for([&] { return nodes.b.received.size() == 500; }));
  for (uint64_t i = 0; i < 500; ++i) CHECK(std::get<cancel>(nodes.b.received[i].body).id.value == i);
}

TEST_CASE("frames to or from an ended incarnation are discarded") {
  lane_pair nodes;
  auto to_the_past = queue_on_b;
  to_the_past.incarnation = incarnation_id{199};
  nodes.a.lane().send(gateway_on_a, to_the_past, cancel{request_id{1}});
  CHECK(nodes.a.lane().stats().stale == 1);
  auto from_the_past = gateway_on_a;  // an actor with its node's old incarnation
  from_the_past.incarnation = incarnation_id{99};
  nodes.a.lane().send(from_the_past, queue_on_b, cancel{request_id{1}});
  CHECK(nodes.a.lane().stats().stale == 2);

  nodes.b.lane().renew(incarnation_id{201}, 201'000);
  nodes.a.lane().send(gateway_on_a, queue_on_b, cancel{request_id{2}});  // to incarnation 200, which is over
  nodes.a.lane().disconnect(node_id{1}, incarnation_id{200});
  nodes.a.meet(nodes.b, 1);
  nodes.b.meet(nodes.a, 0);
  REQUIRE(nodes.a.wait_for([&] { return nodes.a.synchronised == 2; }));
  nodes.a.lane().send(gateway_on_a, queue_on_b, cancel{request_id{3}});
  REQUIRE(nodes.b.wait_for([&] { return !nodes.b.received.empty(); }));
  CHECK(nodes.b.received.size() == 1);
  CHECK(std::get<cancel>(nodes.b.received[0].body).id.value == 3);
  CHECK(nodes.b.received[0].to.incarnation == incarnation_id{201});
}

TEST_CASE("invalid frames are counted and dropped") {
  lane_pair nodes;
  auto header = make_header({node_id{0}, incarnation_id{100}, role::gateway, 0},
                            {node_id{1}, incarnation_id{200}, role::model_queue, 0}, 0);
  header.secret = 200'000;
  const auto frame = [&] {
    std::vector<std::byte> f(sizeof header + 16);
    std::memcpy(f.data(), &header, sizeof header);
    return f;
  };
  nodes.a.carrier().send(node_id{1}, std::vector<std::byte>(7));  // too short for a header
  header.type = 9999;
  nodes.a.carrier().send(node_id{1}, frame());
  header.type = 0;
  auto garbage = frame();
  std::fill(garbage.begin() + sizeof header, garbage.end(), std::byte{0xff});
  nodes.a.carrier().send(node_id{1}, std::move(garbage));
  nodes.a.lane().send(gateway_on_a, queue_on_b, cancel{request_id{1}});
  REQUIRE(nodes.b.wait_for([&] { return !nodes.b.received.empty(); }));
  CHECK(nodes.b.lane().stats().malformed == 3);
  CHECK(nodes.b.received.size() == 1);
}

TEST_CASE("a frame of a connected peer with another secret is discarded unread and counted") {
  lane_pair nodes;
  auto header = make_header({node_id{0}, incarnation_id{100}, role::gateway, 0},
                            {node_id{1}, incarnation_id{200}, role::model_queue, 3}, 1);
  const auto frame = [&](uint64_t secret) {
    header.secret = secret;
    std::vector<std::byte> f(sizeof header);
    std::memcpy(f.data(), &header, sizeof header);
    encode(cancel{request_id{7}}, f);
    return f;
  };
  for (const uint64_t wrong : {0ul, 100'000ul, 200'001ul}) nodes.a.carrier().send(node_id{1}, frame(wrong));
  nodes.a.carrier().send(node_id{1}, frame(200'000));
  REQUIRE(nodes.b.wait_for([&] { return !nodes.b.received.empty(); }));
  CHECK(nodes.b.lane().stats().forged == 3);
  CHECK(nodes.b.lane().stats().malformed == 0);
  CHECK(nodes.b.received.size() == 1);
}

TEST_CASE("heartbeats update the time of the peer, and its loss is reported") {
  auto network = make_inproc_network();
  lane_node a(network, 0, incarnation_id{100}, 0h);
  {
    lane_node b(network, 1, incarnation_id{200}, -7h);
    a.meet(b, 1);
    b.meet(a, 0);
    REQUIRE(a.wait_for([&] { return a.synchronised == 1; }));
    const auto then = a.now();
    for (int i = 0; i < 1000 && a.lane().last_heard(node_id{1}) <= then; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    CHECK(a.lane().last_heard(node_id{1}) > then);
    CHECK(a.lane().clock_error(node_id{1}) >= duration{0});
  }
  CHECK(a.wait_for([&] { return a.lost == 1; }));
}
