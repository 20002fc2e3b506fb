#include "tools/bench/lane.hpp"

#include <algorithm>
#include <caf/all.hpp>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "actors/runtime/caf_host.hpp"
#include "actors/runtime/post.hpp"
#include "actors/runtime/system_config.hpp"
#include "tools/bench/forked_process.hpp"
#include "tools/bench/two_nodes.hpp"

namespace troupe {
namespace {

constexpr uint64_t secret_of_both = 1;
constexpr int idle_rounds = 500, busy_rounds = 5000;

constexpr address actor_on(node_id node) { return {node, {}, role::gpu_worker, 0}; }

/// Sends every message back.
class echo final : public actor {
 public:
  using actor::actor;
  void on(envelope& e, time_point) override { send(e.from, std::move(e.body)); }
  void on_time(time_point) override {}
  time_point next_wakeup() const override { return never; }
  void report(std::vector<metric>&) const override {}
};

/// Sends a message, and the next one after the answer and a pause.
class pinger final : public actor {
 public:
  using finished = std::promise<std::vector<duration>>;
  pinger(address self, outbox& out, const clock& time) : actor(self, out), clock_(time) {}

  /// The task that starts with `node_up`.
  struct task {
    duration pause{};
    size_t rounds = 0;
    finished* done = nullptr;
  };
  task errand;

  void on(envelope& e, time_point now) override {
    if (std::holds_alternative<node_up>(e.body)) next_at_ = now;
    if (!std::holds_alternative<cancel>(e.body)) return;
    took_.push_back(clock_.now() - sent_);
    next_at_ = now + errand.pause;
    if (took_.size() < errand.rounds) return;
    next_at_ = never;
    errand.done->set_value(std::exchange(took_, {}));
  }
  void on_time(time_point now) override {
    if (now < next_at_) return;
    next_at_ = never;
    sent_ = clock_.now();
    send(actor_on(far_node), cancel{request_id{1}});
  }
  time_point next_wakeup() const override { return next_at_; }
  void report(std::vector<metric>&) const override {}

 private:
  const clock& clock_;
  time_point sent_ = never, next_at_ = never;
  std::vector<duration> took_;
};

/// One node of two: a lane, a post and one CAF host with one actor.
struct lane_node {
  explicit lane_node(node_id self)
      : post(self),
        carrier(ucx_between_two(self, time)),
        lane(*carrier, time, post, {self, incarnation_of_both, secret_of_both, 2, 100ms}) {
    post.set_lane(lane);
  }
  ~lane_node() {
    lane.stop();
    caf::scoped_actor waiting{system};
    for (const auto& caf_host : post.caf_hosts()) {
      caf::anon_send_exit(caf_host, caf::exit_reason::kill);
      waiting->wait_for(caf_host);
    }
  }

  void run(std::unique_ptr<actor_group> group) {
    const auto names = group->names();
    post.add_caf_host(spawn_threaded_caf_host(system, std::move(group), time, usual_timing, {}), names);
    lane.start();
  }
  void connect(node_id peer, const std::string& address) {
    lane.connect(peer, incarnation_of_both, secret_of_both, {address.begin(), address.end()});
    for (int i = 0; i < 2000 && lane.clock_error(peer) < 0ns; ++i) std::this_thread::sleep_for(5ms);
    if (lane.clock_error(peer) < 0ns)
      throw std::runtime_error("the two ends of the data lane do not connect");
  }

  threaded_config config{1};
  caf::actor_system system{config};
  machine_clock time;
  troupe::post post;
  std::unique_ptr<fabric> carrier;
  data_lane lane;
};

double half_median_us(std::vector<duration> took) {
  std::ranges::sort(took);
  return to_seconds(took[took.size() / 2]) * 1e6 / 2;
}

}  // namespace

void run_far_lane(int fd) {
  lane_node here(far_node);
  auto group = std::make_unique<actor_group>(here.post);
  group->add<echo>(address{far_node, incarnation_of_both, role::gpu_worker, 0});
  here.run(std::move(group));
  send_text(fd, here.carrier->address());
  here.connect(near_node, receive_text(fd));
  send_text(fd, "ready");
  wait_for_close(fd);
}

lane_latency measure_lane(int fd) {
  lane_node here(near_node);
  auto group = std::make_unique<actor_group>(here.post);
  auto& asking = group->add<pinger>(address{near_node, incarnation_of_both, role::gpu_worker, 0}, here.time);
  here.run(std::move(group));
  const std::string address = receive_text(fd);
  send_text(fd, here.carrier->address());
  here.connect(far_node, address);
  receive_text(fd);
  const auto measure = [&](duration pause, size_t rounds) {
    pinger::finished done;
    asking.errand = {pause, rounds, &done};  // idle; its start message comes after this
    here.post.send(actor_on(near_node), node_up{});
    auto took = done.get_future();
    if (took.wait_for(60s) != std::future_status::ready) throw std::runtime_error("no answer for a minute");
    return half_median_us(took.get());
  };
  measure(0ns, 200);  // warm
  return {measure(1ms, idle_rounds), measure(0ns, busy_rounds)};
}

}  // namespace troupe
