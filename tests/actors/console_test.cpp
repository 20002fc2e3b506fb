#include "actors/console.hpp"

#include <caf/all.hpp>
#include <nlohmann/json.hpp>

#include "actors/actor_of.hpp"
#include "tests/actors/actor_world.hpp"

using namespace troupe;
using namespace troupe::test;

TEST_CASE("console: tells the status of its node as JSON, and what it does not know") {
  actor_world world;
  machine_clock time;
  post_office office(node_id{0});
  probe::log log;
  auto group = std::make_unique<shell_group>(office);
  group->add<probe>(address{node_id{0}, {1}, role::model_queue, 0}, log);
  const auto names = group->names();
  office.add_host(spawn_threaded_host(world.system(), std::move(group), time, {}, {}), names);
  const auto figures = spawn<metrics>(world.system(), office, [](std::vector<metric>&) {});
  catalog models({{model_id{0}, "resnet", 10ms, 1, {}, 0}});
  const auto desk = spawn<console>(
      world.system(),
      console::facts{"left", "abc", [] { return uint64_t{7}; }, [] { return true; }, models, figures, {}});
  caf::scoped_actor self{world.system()};
  const auto ask = [&](command c) {
    command_reply reply;
    self->request(desk, std::chrono::seconds(10), std::move(c))
        .receive([&](command_reply& r) { reply = std::move(r); },
                 [](const caf::error&) { FAIL("no reply"); });
    return reply;
  };

  const auto status = ask({5, "status", {}});
  CHECK(status.ok);
  CHECK(status.token == 5);
  const auto doc = nlohmann::json::parse(status.body);
  CHECK(doc["node"] == "left");
  CHECK(doc["life"] == 7);
  CHECK(doc["ready"] == true);
  CHECK(doc["models"][0]["name"] == "resnet");
  CHECK(doc["models"][0]["slo_ms"] == 10);
  CHECK(doc["actors"][0] == "model_queue 0");
  CHECK(doc["unfinished"] == 2);
  CHECK(doc["metrics"][0]["labels"]["probe"] == "0");

  const auto unknown = ask({6, "dance", {}});
  CHECK_FALSE(unknown.ok);
  CHECK(unknown.token == 6);
  CHECK(unknown.body.find("dance") != std::string::npos);

  caf::anon_send_exit(desk, caf::exit_reason::kill);
  caf::anon_send_exit(figures, caf::exit_reason::kill);
  caf::anon_send_exit(office.hosts()[0], caf::exit_reason::kill);
  self->wait_for(office.hosts()[0]);
  self->wait_for(figures);
  self->wait_for(desk);
}
