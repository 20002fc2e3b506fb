#include "plugins/extension_guard.hpp"

#include "plugins/loader.hpp"
#include "tests/plugins/no_outbox.hpp"
#include "tests/plugins/plugin_files.hpp"

using namespace troupe;

namespace {

/// The second plug-in's listener, created like on a node.
struct guarded_listener {
  guarded_listener() {
    const auto& p = load_plugin(TROUPE_EXAMPLE_PLUGIN);
    cluster.plugins = {{"other", "1", "", {}}, {p.name, p.version, p.library, {}}};
    cluster.actors = {{1, "listener", node_id{0}}};
    guard = make_extension(cluster, self, out);
  }
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

  cluster_spec cluster;
  no_outbox out;
  const address self{node_id{0}, incarnation_id{1}, role::extension, 0};
  std::unique_ptr<actor> guard;
};

}  // namespace

TEST_CASE("extension_guard: messages of another plug-in are counted, and its actor never sees them") {
  guarded_listener l;
  l.deliver(plugin_message{first_plugin_type(1), {}});
  l.deliver(plugin_message{first_plugin_type(1) + plugin_types - 1, {}});
  CHECK(l.values() == std::vector<double>{2, 0});
  for (const auto type : {0u, first_plugin_type(0), first_plugin_type(1) - 1, first_plugin_type(2), ~0u})
    l.deliver(plugin_message{type, {}});
  CHECK(l.values() == std::vector<double>{2, 5});
}

TEST_CASE("extension_guard: commands are checked against what the plug-in said that its actor takes") {
  guarded_listener l;
  const auto done = l.ask("add", R"({"messages": 3})");
  CHECK(done.ok);
  CHECK(done.token == 7);
  CHECK(done.body == R"({"messages":3})");
  CHECK(l.ask("add", "{}").body == "add.messages: missing");
  CHECK(l.ask("add", R"({"messages": -1})").body.starts_with("add.messages: must be an integer in "));
  CHECK(l.ask("sub", "").body == "takes no 'sub'; it takes: add");
  CHECK(extension_protocol{}.problem_with({0, "add", ""}) == "takes no commands");
  CHECK(l.values()[0] == 3);
}

TEST_CASE("extension_guard: goes by the name of its actor, in a new incarnation too") {
  guarded_listener l;
  l.guard->begin_incarnation(incarnation_id{2});  // as by its group
  CHECK(l.guard->self().incarnation == incarnation_id{2});
}
