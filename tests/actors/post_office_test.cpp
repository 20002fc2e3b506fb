#include "actors/post_office.hpp"

#include <caf/all.hpp>
#include <thread>

#include "tests/actors/actor_world.hpp"

using namespace troupe;
using namespace troupe::test;

TEST_CASE(
    "post_office: once it is stopped, the end of a pull may be told on any thread, and goes to nobody") {
  constexpr address worker{node_id{0}, {1}, role::gpu_worker, 0};
  actor_world world;
  machine_clock time;
  post_office office(node_id{0});
  probe::log log;
  auto group = std::make_unique<shell_group>(office);
  group->add<probe>(worker, log);
  const auto host = spawn_threaded_host(world.system(), std::move(group), time, {}, {});
  office.add_host(host, std::vector{worker});
  office.tell_with_turn(worker, pulled{});
  office.on_turn_end();
  CHECK(eventually([&] { return log.heard == 1; }));
  office.stop();
  std::vector<std::thread> any;
  for (int i = 0; i < 4; ++i)
    any.emplace_back([&] {
      for (int k = 0; k < 1000; ++k) office.tell_with_turn(worker, pulled{});
    });
  for (auto& t : any) t.join();
  office.on_turn_end();
  caf::anon_send_exit(host, caf::exit_reason::user_shutdown);
  caf::scoped_actor self{world.system()};
  self->wait_for(host);
  CHECK(log.heard == 1);
}
