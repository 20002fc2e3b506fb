#include "actors/kinds/host_plan.hpp"

#include <caf/actor_system.hpp>
#include <string>

#include "actors/runtime/system_config.hpp"

#include <doctest/doctest.h>

using namespace troupe;

namespace {

/// An actor that only has a name.
struct silent_actor final : actor {
  using actor::actor;
  void on(envelope&, time_point) override {}
  void on_time(time_point) override {}
  time_point next_wakeup() const override { return never; }
  void report(std::vector<metric>&) const override {}
};

/// A plan whose CAF hosts are noted down instead of spawned.
struct noted_plan {
  explicit noted_plan(bool one_per_actor, uint32_t scheduler_threads = 2)
      : hosts{system,
              [this](std::unique_ptr<actor_group> group, on_broken) {
                std::string names;
                for (const auto& a : group->names())
                  names +=
                      (names.empty() ? "" : " ") + std::string(to_string(a.kind)) + std::to_string(a.index);
                spawned.push_back(names);
                return caf::actor{};
              },
              one_per_actor},
        plan(to, hosts, scheduler_threads) {}

  static void add(actor_group& group, role kind, uint32_t index) {
    group.add<silent_actor>(address{node_id{0}, incarnation_id{1}, kind, index});
  }
  std::vector<std::string> spawn() {
    plan.spawn({});
    return spawned;
  }

  stepped_config config;
  caf::actor_system system{config};
  post to{node_id{0}};
  std::vector<std::string> spawned;
  const caf_host_part hosts;
  host_plan plan;
};

}  // namespace

TEST_CASE("host_plan: the scheduler's actors share its threads, others have groups of their own") {
  noted_plan p(false);
  p.add(p.plan.of_scheduler(0), role::gateway, 0);
  p.add(p.plan.own(), role::llm_gateway, 0);
  for (uint32_t i = 0; i < 3; ++i) p.add(p.plan.of_queue(i), role::model_queue, i);
  for (uint32_t i = 0; i < 2; ++i) p.add(p.plan.shared(role::gpu_worker), role::gpu_worker, i);
  p.add(p.plan.shared(role::extension), role::extension, 0);
  CHECK(p.spawn() == std::vector<std::string>{"gateway0 model_queue0 model_queue2", "model_queue1",
                                              "llm_gateway0", "gpu_worker0 gpu_worker1", "extension0"});
}

TEST_CASE("host_plan: groups without actors get no host, unless queues may come") {
  noted_plan none(false);
  none.plan.own();
  CHECK(none.spawn().empty());
  noted_plan later(false, 3);
  later.plan.expect_queues();
  CHECK(later.spawn() == std::vector<std::string>{"", "", ""});
}

TEST_CASE("host_plan: there is at least one scheduler thread") {
  noted_plan p(false, 0);
  for (uint32_t i = 0; i < 2; ++i) p.add(p.plan.of_scheduler(i), role::rank_arbiter, i);
  CHECK(p.spawn() == std::vector<std::string>{"rank_arbiter0 rank_arbiter1"});
}

TEST_CASE("host_plan: with a host for each actor no host is shared") {
  noted_plan p(true);
  p.plan.expect_queues();
  p.add(p.plan.of_scheduler(0), role::gateway, 0);
  for (uint32_t i = 0; i < 2; ++i) p.add(p.plan.of_queue(i), role::model_queue, i);
  for (uint32_t i = 0; i < 2; ++i) p.add(p.plan.shared(role::gpu_worker), role::gpu_worker, i);
  CHECK(p.spawn() ==
        std::vector<std::string>{"gateway0", "model_queue0", "model_queue1", "gpu_worker0", "gpu_worker1"});
}
