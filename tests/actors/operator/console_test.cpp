#include "actors/operator/console.hpp"

#include <caf/all.hpp>
#include <future>
#include <nlohmann/json.hpp>

#include "actors/runtime/actor_of.hpp"
#include "tests/actors/caf_fixture.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

constexpr uint64_t first_incarnation = 7000;

/// Frames to other nodes, kept.
struct recording_lane final : control_lane {
  void send(control_frame frame) override { sent.push_back(std::move(frame)); }
  std::vector<control_frame> sent;
};

cluster_spec two_nodes() {
  cluster_spec c;
  c.hash = "abc";
  c.limits.node_timeout = 100ms;
  for (const char* name : {"left", "right"}) {
    node_spec n;
    n.name = name;
    n.roles = {node_role::scheduler, node_role::worker};
    c.nodes.push_back(std::move(n));
  }
  return c;
}

/// A console over one probe, for tests that ask several things at once.
struct console_stage {
  console_stage() {
    auto group = std::make_unique<actor_group>(post);
    group->add<probe>(address{node_id{0}, {1}, role::model_queue, 0}, log);
    const auto names = group->names();
    post.add_caf_host(spawn_threaded_caf_host(fixture.system(), std::move(group), time, {}, {}), names);
    metrics_actor = spawn<metrics>(fixture.system(), post, [](std::vector<metric>&) {});
    console_actor = spawn<console>(fixture.system(), console::facts{cluster,
                                                                    node_id{0},
                                                                    [] { return first_incarnation; },
                                                                    [this] {
                                                                      if (broken)
                                                                        throw std::runtime_error("no idea");
                                                                      return true;
                                                                    },
                                                                    models,
                                                                    metrics_actor,
                                                                    {},
                                                                    post,
                                                                    lane,
                                                                    {}});
  }
  ~console_stage() {
    for (const auto& a : {caf::actor_cast<caf::actor>(console_actor),
                          caf::actor_cast<caf::actor>(metrics_actor), post.caf_hosts()[0]}) {
      caf::anon_send_exit(a, caf::exit_reason::kill);
      self->wait_for(a);
    }
  }
  auto ask(command c) { return self->request(console_actor, std::chrono::seconds(10), std::move(c)); }
  template <class Pending>
  static command_reply reply_to(Pending& asked) {
    command_reply reply;
    asked.receive([&](command_reply& r) { reply = std::move(r); },
                  [](const caf::error&) { FAIL("no reply"); });
    return reply;
  }

  caf_fixture fixture;
  machine_clock time;
  const cluster_spec cluster = two_nodes();
  recording_lane lane;
  troupe::post post{node_id{0}};
  probe::log log;
  catalog models{{{model_id{0}, "resnet", 10ms, 1, {}, 0}}};
  std::atomic<bool> broken{false};
  caf::scoped_actor self{fixture.system()};
  metrics_protocol metrics_actor;
  console_protocol console_actor;
};

}  // namespace

TEST_CASE("console: reports its node, and forwards commands to local actors and other consoles") {
  caf_fixture fixture;
  machine_clock time;
  const auto cluster = two_nodes();
  recording_lane lane;
  post post(node_id{0});
  probe::log log;
  auto group = std::make_unique<actor_group>(post);
  group->add<probe>(address{node_id{0}, {1}, role::model_queue, 0}, log);
  const auto names = group->names();
  post.add_caf_host(spawn_threaded_caf_host(fixture.system(), std::move(group), time, {}, {}), names);
  const auto metrics_actor = spawn<metrics>(fixture.system(), post, [](std::vector<metric>&) {});
  catalog models({{model_id{0}, "resnet", 10ms, 1, {}, 0}});
  const auto console_actor = spawn<console>(fixture.system(), console::facts{cluster,
                                                                             node_id{0},
                                                                             [] { return first_incarnation; },
                                                                             [] { return true; },
                                                                             models,
                                                                             metrics_actor,
                                                                             {},
                                                                             post,
                                                                             lane,
                                                                             {}});
  caf::scoped_actor self{fixture.system()};
  const auto ask = [&](command c) {
    command_reply reply;
    self->request(console_actor, std::chrono::seconds(10), std::move(c))
        .receive([&](command_reply& r) { reply = std::move(r); },
                 [](const caf::error&) { FAIL("no reply"); });
    return reply;
  };
  const auto order = [&](const std::string& actor, const std::string& type, const char* fields = "{}") {
    return ask(
        {8, "ask", R"({"actor": ")" + actor + R"(", "type": ")" + type + R"(", "fields": )" + fields + "}"});
  };

  const auto status = ask({5, "status", {}});
  CHECK(status.ok);
  CHECK(status.token == 5);
  auto doc = nlohmann::json::parse(status.body);
  CHECK(doc["node"] == "left");
  CHECK(doc["incarnation"] == first_incarnation);
  CHECK(doc["ready"] == true);
  CHECK(doc["models"][0]["name"] == "resnet");
  CHECK(doc["models"][0]["slo_ms"] == 10);
  CHECK(doc["actors"][0] == "model_queue/0@left");
  CHECK(doc["unfinished"] == 2);
  CHECK(doc["metrics"][0]["labels"]["probe"] == "0");

  doc = nlohmann::json::parse(ask({6, "actors", {}}).body);
  REQUIRE(doc["actors"].size() == 2);
  CHECK(doc["actors"][0]["name"] == "model_queue/0@left");
  CHECK(doc["actors"][0]["model"] == "resnet");
  CHECK(doc["actors"][0]["state"] == "serving");
  CHECK(doc["actors"][1]["kind"] == "console");

  const auto unknown = ask({6, "dance", {}});
  CHECK_FALSE(unknown.ok);
  CHECK(unknown.token == 6);
  CHECK(unknown.body.find("dance") != std::string::npos);

  CHECK(order("model_queue/resnet@left", "pause_batching").body ==
        "takes no commands");  // a probe is no queue
  CHECK(order("model_queue/1@left", "pause_batching").body ==
        "there is no actor 'model_queue/1@left'; did you mean 'model_queue/0@left'?");
  CHECK(order("model_queue/0@left", "set_slo", R"({"slo": true})").body.starts_with("set_slo.slo: must be"));
  const auto own = order("console@left", "get_state");
  CHECK(own.ok);
  CHECK(nlohmann::json::parse(own.body)["open"] == 1);
  CHECK(order("metrics@left", "get_metrics").body ==
        "there is no actor 'metrics@left'; known: model_queue/0@left");

  // Forwarded commands end without an answer, too: a change after its `wait`.
  auto change = self->request(console_actor, std::chrono::seconds(10),
                              command{9, "ask",
                                      R"({"actor": "deployer@right", "type": "undeploy",)"
                                      R"( "fields": {"name": "resnet", "wait": 200000000}})"});
  CHECK(order("node@right", "get_state").body ==
        "'node@right' did not answer within 2 s: the node is down, frozen or very busy");
  change.receive(
      [](const command_reply& r) {
        CHECK_FALSE(r.ok);
        CHECK(r.body ==
              "'deployer@right' did not answer within 2.5 s: the node is down, frozen or very busy");
      },
      [](const caf::error&) { FAIL("no reply"); });
  REQUIRE(lane.sent.size() == 2);
  for (const auto& frame : lane.sent) {
    CHECK(frame.to == address{node_id{1}, {}, role::console, 0});
    const auto sent = frame.body.get_as<command>(0);
    CHECK(sent.verb == "ask");
    CHECK(sent.token > first_incarnation);  // no earlier process has used it
  }

  // A forwarded command at the other console.
  caf::anon_send(console_actor,
                 control_frame{{node_id{1}, {}, role::console, 0},
                               {node_id{0}, {}, role::console, 0},
                               caf::make_message(
                                   command{3, "ask", R"({"actor": "console@left", "type": "get_state"})"})});
  CHECK(order("console@left", "get_state").ok);
  REQUIRE(lane.sent.size() == 3);
  CHECK(lane.sent[2].body.get_as<command_reply>(0).token == 3);
  CHECK(lane.sent[2].body.get_as<command_reply>(0).ok);

  caf::anon_send_exit(console_actor, caf::exit_reason::kill);
  caf::anon_send_exit(metrics_actor, caf::exit_reason::kill);
  caf::anon_send_exit(post.caf_hosts()[0], caf::exit_reason::kill);
  self->wait_for(post.caf_hosts()[0]);
  self->wait_for(metrics_actor);
  self->wait_for(console_actor);
}

TEST_CASE("console: after an exception all pending commands are answered as failed, and it continues") {
  console_stage s;
  s.broken = true;
  auto elsewhere = s.ask({1, "ask", R"({"actor": "node@right", "type": "get_state"})"});
  auto status = s.ask({2, "status", {}});
  for (auto* asked : {&elsewhere, &status}) {
    const auto r = console_stage::reply_to(*asked);
    CHECK_FALSE(r.ok);
    CHECK(r.body == "the console failed and dropped this command; try again");
  }
  s.broken = false;
  auto again = s.ask({3, "status", {}});
  CHECK(console_stage::reply_to(again).ok);
}

TEST_CASE("console: tell commands are bounded, and count until their actor has handled them") {
  console_stage s;
  std::promise<void> go;
  caf::anon_send(s.post.caf_hosts()[0],
                 regrouping{[&](actor_group&, time_point) { go.get_future().wait(); }});
  const auto send = [&] {
    return s.ask({1, "tell", R"({"actor": "model_queue/0@left", "type": "pause_batching"})"});
  };
  std::vector<decltype(send())> replies;
  for (size_t i = 0; i < console::max_open; ++i) replies.push_back(send());
  auto beyond = send();
  CHECK(console_stage::reply_to(beyond).body == "too many commands are in progress at this node; try again");
  go.set_value();
  for (auto& t : replies) CHECK(console_stage::reply_to(t).ok);
}
