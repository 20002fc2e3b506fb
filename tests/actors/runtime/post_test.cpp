#include "actors/runtime/post.hpp"

#include <caf/all.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <future>
#include <thread>

#include "actors/runtime/system_config.hpp"
#include "tests/actors/caf_fixture.hpp"

using namespace troupe;
using namespace troupe::test;

TEST_CASE("post: after its stop the end of a pull may arrive on any thread, and is dropped") {
  constexpr address worker{node_id{0}, {1}, role::gpu_worker, 0};
  caf_fixture fixture;
  machine_clock time;
  post post(node_id{0});
  probe::log log;
  auto group = std::make_unique<actor_group>(post);
  group->add<probe>(worker, log);
  const auto caf_host = spawn_threaded_caf_host(fixture.system(), std::move(group), time, {}, {});
  post.add_caf_host(caf_host, std::vector{worker});
  post.send_with_turn(worker, pulled{});
  post.on_turn_end();
  CHECK(eventually([&] { return log.received == 1; }));
  post.stop();
  std::vector<std::thread> any;
  for (int i = 0; i < 4; ++i)
    any.emplace_back([&] {
      for (int k = 0; k < 1000; ++k) post.send_with_turn(worker, pulled{});
    });
  for (auto& t : any) t.join();
  post.on_turn_end();
  caf::anon_send_exit(caf_host, caf::exit_reason::user_shutdown);
  caf::scoped_actor self{fixture.system()};
  self->wait_for(caf_host);
  CHECK(log.received == 1);
}

TEST_CASE("post: a turn of the lane for one sleeping host is direct, for several none is") {
  constexpr address worker{node_id{0}, {1}, role::gpu_worker, 0}, gateway{node_id{0}, {1}, role::gateway, 0};
  caf_fixture fixture;
  machine_clock time;
  post post(node_id{0});
  probe::log worker_log, gateway_log;
  std::vector<caf::actor> caf_hosts;
  for (auto [self, log] : {std::pair{worker, &worker_log}, std::pair{gateway, &gateway_log}}) {
    auto group = std::make_unique<actor_group>(post);
    group->add<probe>(self, *log);
    caf_hosts.push_back(spawn_threaded_caf_host(fixture.system(), std::move(group), time, {}, {}));
    post.add_caf_host(caf_hosts.back(), std::vector{self});
  }
  const auto me = std::this_thread::get_id();
  int sent = 0;
  for (bool direct = false; !direct && sent < 1000; ++sent) {
    post.send_with_turn(worker, pulled{});
    post.on_turn_end();
    direct = worker_log.thread.load() == me;
    std::this_thread::sleep_for(1ms);
  }
  CHECK(worker_log.thread.load() == me);
  CHECK(eventually([&] { return worker_log.received == sent; }));
  post.send_with_turn(worker, pulled{});
  post.send_with_turn(gateway, pulled{});
  post.on_turn_end();
  CHECK(eventually([&] { return worker_log.received == sent + 1 && gateway_log.received == 1; }));
  CHECK(worker_log.thread.load() != me);
  CHECK(gateway_log.thread.load() != me);
  caf::scoped_actor self{fixture.system()};
  for (const auto& h : caf_hosts) {
    caf::anon_send_exit(h, caf::exit_reason::user_shutdown);
    self->wait_for(h);
  }
}

TEST_CASE("post: messages to a slow actor of a plug-in are bounded, events of its node are not") {
  constexpr address guest{node_id{0}, {1}, role::extension, 0};
  constexpr size_t large = 1 << 20;
  caf_fixture fixture;
  machine_clock time;
  post post(node_id{0});
  probe::log log;
  auto group = std::make_unique<actor_group>(post);
  group->add<probe>(guest, log);
  const auto caf_host = spawn_threaded_caf_host(fixture.system(), std::move(group), time, {}, {});
  post.add_caf_host(caf_host, std::vector{guest});
  const auto send = [&](size_t messages) {
    for (size_t i = 0; i < messages; ++i) {
      std::vector<envelope> one{{guest, guest, plugin_message{256, std::vector<uint8_t>(large)}}};
      post.carry(one);
    }
  };
  std::promise<void> go;
  caf::anon_send(caf_host, regrouping{[&](actor_group&, time_point) { go.get_future().wait(); }});
  send(100);
  post.broadcast(node_up{});
  const auto max = post::max_waiting / large;
  CHECK(post.dropped() >= 100 - max);
  CHECK(post.dropped() <= 102 - max);
  const auto accepted = static_cast<int>(100 - post.dropped());
  go.set_value();
  CHECK(eventually([&] { return log.received == accepted + 1; }));
  const auto before = post.dropped();
  send(10);
  CHECK(eventually([&] { return log.received == accepted + 11; }));
  CHECK(post.dropped() == before);
  caf::anon_send_exit(caf_host, caf::exit_reason::kill);
  caf::scoped_actor self{fixture.system()};
  self->wait_for(caf_host);
}

TEST_CASE("post: a broadcast reaches queues first, then arbiters, gateways and all others") {
  stepped_config config;
  caf::actor_system system{config};
  auto& scheduler = dynamic_cast<caf::scheduler::test_coordinator&>(system.scheduler());
  post post(node_id{0});
  std::vector<std::string> received;
  std::vector<caf::actor> caf_hosts;
  const auto add = [&](const char* name, std::vector<role> kinds) {
    caf_hosts.push_back(system.spawn([&received, name](caf::event_based_actor*) -> caf::behavior {
      return {[&received, name](const delivery&) { received.emplace_back(name); }};
    }));
    std::vector<address> actors;
    for (const auto kind : kinds)
      actors.push_back({node_id{0}, {1}, kind, static_cast<uint32_t>(caf_hosts.size())});
    post.add_caf_host(caf_hosts.back(), actors);
  };
  using enum role;
  add("first thread", {gateway, rank_arbiter, model_queue});
  add("second thread", {model_queue, rank_arbiter});
  add("third thread", {model_queue});
  add("thread without a queue yet", {});
  add("worker", {gpu_worker});
  post.set_queue_caf_hosts({caf_hosts[0], caf_hosts[1], caf_hosts[2], caf_hosts[3]});
  scheduler.run();
  post.broadcast(leadership{});
  scheduler.run();
  CHECK(received == std::vector<std::string>{"third thread", "thread without a queue yet", "second thread",
                                             "first thread", "worker"});
  for (const auto& h : caf_hosts) caf::anon_send_exit(h, caf::exit_reason::kill);
  scheduler.run();
}
