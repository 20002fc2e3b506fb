#include "actors/runtime/caf_host.hpp"

#include <caf/all.hpp>
#include <ctime>
#include <future>
#include <random>
#include <thread>
#include <vector>

#include "actors/runtime/direct_turns.hpp"
#include "tests/actors/caf_fixture.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

class nowhere final : public message_sink {
 public:
  void carry(std::span<envelope>) override {}
};

constexpr address the_probe{node_id{0}, {1}, role::model_queue, 0};

struct hosted_probe {
  explicit hosted_probe(caf_host_timing timing = {200us, 0us, 0us}) {
    auto group = std::make_unique<actor_group>(beyond);
    group->add<probe>(the_probe, log);
    caf_host = spawn_threaded_caf_host(fixture.system(), std::move(group), time, timing,
                                       [this](std::string why) { broken.set_value(std::move(why)); });
  }
  ~hosted_probe() { stop(); }
  void stop() {
    caf::scoped_actor self{fixture.system()};
    caf::anon_send_exit(caf_host, caf::exit_reason::kill);
    self->wait_for(caf_host);
  }
  void send(actor_message m) {
    delivery d;
    d.messages.push_back({{}, the_probe, std::move(m)});
    caf::anon_send(caf_host, std::move(d));
  }

  nowhere beyond;
  machine_clock time{24h};
  probe::log log;
  caf_fixture fixture;
  std::promise<std::string> broken;
  caf::actor caf_host;
};

/// Sends it again and again, until the host took its turn for one on this thread.
bool taken_here(hosted_probe& h, const actor_message& m) {
  bool taken = false;
  return eventually([&] {
    if (taken) return true;
    h.log.thread = std::thread::id{};
    const direct_turns here;
    h.send(m);
    taken = h.log.thread.load() == std::this_thread::get_id();
    return taken;
  });
}

double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

}  // namespace

TEST_CASE("threaded_caf_host: it delivers, reports, and destroys its actors when it ends") {
  hosted_probe h;
  h.send(cancel{{1000000}});
  h.send(cancel{{1000000}});
  CHECK(eventually([&] { return h.log.received == 2; }));
  std::promise<group_report> answered;
  caf::anon_send(h.caf_host, report_query{[&](group_report r) { answered.set_value(std::move(r)); }});
  const auto report = answered.get_future().get();
  CHECK(report.actors == std::vector<address>{the_probe});
  CHECK(report.unfinished == 2);
  REQUIRE(report.metrics.size() == 1);
  CHECK(report.metrics[0].value == 2);
  CHECK(h.log.alive == 1);
  h.stop();
  CHECK(h.log.alive == 0);
}

TEST_CASE("threaded_caf_host: it wakes an actor at its time, not before and not much later") {
  hosted_probe h;
  h.send(cancel{{250}});  // longer than its longest sleep
  CHECK(eventually([&] { return h.log.woke_late_by_ns >= 0; }));
  CHECK(h.log.woke_late_by_ns < 1'000'000'000);  // on a busy machine
}

TEST_CASE("threaded_caf_host: an actor that throws ends it, with the actor, the message and the reason") {
  hosted_probe h;
  h.send(release{});
  CHECK(h.broken.get_future().get() == "model_queue 0 failed on release: no idea");
  CHECK(eventually([&] { return h.log.alive == 0; }));
}

TEST_CASE("threaded_caf_host: an exception in work of the whole group ends it, with the reason") {
  hosted_probe changed;
  caf::anon_send(changed.caf_host,
                 regrouping{[](actor_group&, time_point) { throw std::runtime_error("no queue for it"); }});
  CHECK(changed.broken.get_future().get() == "a CAF host failed on work for all its actors: no queue for it");
  CHECK(eventually([&] { return changed.log.alive == 0; }));
  hosted_probe odd;
  caf::anon_send(odd.caf_host, regrouping{[](actor_group&, time_point) { throw 7; }});
  CHECK(odd.broken.get_future().get().ends_with("an exception of an unknown type"));
  hosted_probe asked;
  asked.log.no_report = true;
  caf::anon_send(asked.caf_host, report_query{[](const group_report&) {}});
  CHECK(asked.broken.get_future().get().ends_with("no report"));
}

TEST_CASE("threaded_caf_host: no message is lost while it falls asleep and wakes at due times") {
  hosted_probe h;
  constexpr int threads = 4, messages = 500;
  std::vector<std::jthread> senders;
  for (unsigned t = 0; t < threads; ++t)
    senders.emplace_back([&h, t] {
      std::mt19937 random(t);
      for (int i = 0; i < messages; ++i) {
        const direct_turns here(t % 2 == 0);
        h.send(cancel{{1}});  // due in a millisecond
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 2000));
        if (i % 100 == 99) CHECK(eventually([&] { return h.log.received >= i; }));
      }
    });
  senders.clear();
  CHECK(eventually([&] { return h.log.received == threads * messages; }));
}

TEST_CASE("threaded_caf_host: while it sleeps, a sender with direct turns takes the turn") {
  hosted_probe h;
  CHECK(taken_here(h, cancel{{1000000}}));
  const int before = h.log.received;
  h.send(cancel{{1000000}});  // without
  CHECK(eventually([&] { return h.log.received == before + 1; }));
  CHECK(h.log.thread.load() != std::this_thread::get_id());
  const direct_turns here;
  const direct_turns::turn of_another_host;
  h.send(cancel{{1000000}});
  CHECK(eventually([&] { return h.log.received == before + 2; }));
  CHECK(h.log.thread.load() != std::this_thread::get_id());
  std::promise<group_report> answered;  // no delivery
  caf::anon_send(h.caf_host, report_query{[&](group_report r) { answered.set_value(std::move(r)); }});
  CHECK(answered.get_future().get().metrics[0].value == before + 2);
}

TEST_CASE("threaded_caf_host: it wakes at a time that a direct turn set, before or after an earlier one") {
  hosted_probe h;
  CHECK(taken_here(h, cancel{{1000000}}));
  CHECK(taken_here(h, cancel{{100}}));
  CHECK(eventually([&] { return h.log.woke_late_by_ns >= 0; }));
  CHECK(h.log.woke_late_by_ns < 1'000'000'000);  // on a busy machine
  h.log.woke_late_by_ns = -1;
  CHECK(taken_here(h, cancel{{50}}));
  CHECK(taken_here(h, cancel{{250}}));
  CHECK(eventually([&] { return h.log.woke_late_by_ns >= 0; }));
  CHECK(h.log.woke_late_by_ns < 1'000'000'000);
}

TEST_CASE("threaded_caf_host: a turn that falls due during a direct one is taken after it") {
  hosted_probe h;
  CHECK(taken_here(h, cancel{{50}}));
  h.log.takes_ms = 100;
  CHECK(taken_here(h, node_up{}));
  CHECK(eventually([&] { return h.log.woke_late_by_ns >= 0; }));
}

TEST_CASE("threaded_caf_host: direct turns count against the bound on turns") {
  hosted_probe h({0us, 0us, 100ms});  // of which 16 may pass at once
  const int before = h.log.turns;
  for (int i = 0; i < 40; ++i) {
    const direct_turns here;
    h.send(node_up{});
    std::this_thread::sleep_for(100us);
  }
  CHECK(eventually([&] { return h.log.received == 40; }));
  CHECK(h.log.turns - before < 30);
}

TEST_CASE("threaded_caf_host: turns that may take any time are never direct") {
  hosted_probe h({.spin = 0us, .linger = 0us, .interval = 0us, .direct = false});
  for (int i = 1; i <= 20; ++i) {
    const direct_turns here;
    h.send(node_up{});
    CHECK(h.log.thread.load() != std::this_thread::get_id());
    std::this_thread::sleep_for(1ms);
  }
  CHECK(eventually([&] { return h.log.received == 20; }));
}

TEST_CASE("threaded_caf_host: an actor that throws in a direct turn ends it") {
  hosted_probe h;
  CHECK(taken_here(h, cancel{{1000000}}));
  const direct_turns here;
  h.send(release{});
  CHECK(h.broken.get_future().get() == "model_queue 0 failed on release: no idea");
  CHECK(eventually([&] { return h.log.alive == 0; }));
}

TEST_CASE("threaded_caf_host: it sleeps while nothing is due") {
  hosted_probe h;
  h.send(cancel{{1000000}});
  CHECK(eventually([&] { return h.log.received == 1; }));
  const double before = cpu_seconds();
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  CHECK(cpu_seconds() - before < 0.05);
}

TEST_CASE("scheduled_caf_host: it requests one wake-up, for its earliest actor") {
  nowhere beyond;
  machine_clock time;
  probe::log log;
  caf_fixture fixture;
  std::atomic<int> asked{0};
  std::atomic<int64_t> first{0};
  auto group = std::make_unique<actor_group>(beyond);
  group->add<probe>(the_probe, log);
  const auto caf_host = spawn_scheduled_caf_host(fixture.system(), std::move(group), time, 0us,
                                                 [&](const caf::actor&, time_point t) {
                                                   if (asked++ == 0) first = t.time_since_epoch().count();
                                                 },
                                                 {});
  const auto send = [&](actor_message m) {
    delivery d;
    d.messages.push_back({{}, the_probe, std::move(m)});
    caf::anon_send(caf_host, std::move(d));
  };
  send(cancel{{1}});
  CHECK(eventually([&] { return asked == 1; }));
  send(node_up{});
  CHECK(eventually([&] { return log.received == 2; }));
  CHECK(eventually([&] { return time.now().time_since_epoch().count() > first; }));
  caf::anon_send(caf_host, wake_atom_v);
  CHECK(eventually([&] { return log.woke_late_by_ns >= 0; }));
  CHECK(asked <= 2);
  caf::scoped_actor self{fixture.system()};
  caf::anon_send_exit(caf_host, caf::exit_reason::kill);
  self->wait_for(caf_host);
  CHECK(log.alive == 0);
}

TEST_CASE("scheduled_caf_host: an exception ends it, in an actor or in work of the whole group") {
  nowhere beyond;
  machine_clock time;
  probe::log log;
  caf_fixture fixture;
  const auto why = [&](caf::message m) {
    std::promise<std::string> broken;
    auto group = std::make_unique<actor_group>(beyond);
    group->add<probe>(the_probe, log);
    const auto caf_host = spawn_scheduled_caf_host(
        fixture.system(), std::move(group), time, 0us, [](const caf::actor&, time_point) {},
        [&](std::string reason) { broken.set_value(std::move(reason)); });
    caf::anon_send(caf_host, std::move(m));
    caf::scoped_actor self{fixture.system()};
    self->wait_for(caf_host);
    return broken.get_future().get();
  };
  delivery d;
  d.messages.push_back({{}, the_probe, release{}});
  CHECK(why(caf::make_message(std::move(d))) == "model_queue 0 failed on release: no idea");
  CHECK(why(caf::make_message(regrouping{[](actor_group&, time_point) {
          throw std::runtime_error("no queue for it");
        }})) == "a CAF host failed on work for all its actors: no queue for it");
  log.no_report = true;
  CHECK(why(caf::make_message(report_query{[](const group_report&) {}})).ends_with("no report"));
  CHECK(log.alive == 0);
}
