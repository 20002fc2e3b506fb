#include "actors/extension/extension_guard.hpp"

#include "tests/actors/extension/counting_kind.hpp"

using namespace troupe;

namespace {

/// The counting actor, as its node makes it.
struct guarded_counter {
  void deliver(actor_message m) {
    envelope e{self, self, std::move(m)};
    guard->on(e, {});
  }
  command_reply ask(const char* verb, const char* fields) { return guard->on_command({7, verb, fields}, {}); }
  std::vector<double> values() const {
    std::vector<metric> all;
    guard->report(all);
    std::vector<double> values;
    for (const auto& m : all) values.push_back(m.value);
    return values;
  }

  const cluster_spec cluster = counting_cluster();
  no_outbox out;
  const address self{node_id{0}, incarnation_id{1}, role::extension, 1};
  const std::unique_ptr<actor> guard = make_extension(cluster, self, out);
};

}  // namespace

TEST_CASE("extension_guard: messages of another plug-in are counted, and its actor never sees them") {
  guarded_counter c;
  c.deliver(plugin_message{first_plugin_type(1), {}});
  c.deliver(plugin_message{first_plugin_type(1) + plugin_types - 1, {}});
  CHECK(c.values() == std::vector<double>{2, 0});
  for (const auto type : {0u, first_plugin_type(0), first_plugin_type(1) - 1, first_plugin_type(2), ~0u})
    c.deliver(plugin_message{type, {}});
  CHECK(c.values() == std::vector<double>{2, 5});
}

TEST_CASE("extension_guard: commands are checked against the protocol of the kind") {
  guarded_counter c;
  const auto done = c.ask("add_count", R"({"messages": 3})");
  CHECK(done.ok);
  CHECK(done.token == 7);
  CHECK(done.body == R"({"messages":3})");
  CHECK(c.ask("add_count", "{}").body == "add_count.messages: missing");
  CHECK(c.ask("add_count", R"({"messages": -1})")
            .body.starts_with("add_count.messages: must be an integer in "));
  CHECK(c.ask("sub", "").body == "there is no command 'sub'; the actor takes: add_count");
  CHECK(extension_protocol{}.problem_with({0, "add_count", ""}) == "takes no commands");
  CHECK(c.values()[0] == 3);
}

TEST_CASE("extension_guard: a new incarnation changes its address") {
  guarded_counter c;
  c.guard->begin_incarnation(incarnation_id{2});  // as its group does
  CHECK(c.guard->self().incarnation == incarnation_id{2});
}
