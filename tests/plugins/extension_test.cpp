#include "plugins/extension.hpp"

#include "plugins/loader.hpp"
#include "tests/plugins/no_outbox.hpp"
#include "tests/plugins/plugin_files.hpp"

using namespace troupe;

TEST_CASE("an actor of a plug-in is made by its position in the cluster file, and lives as an actor") {
  const auto& p = load_plugin(TROUPE_EXAMPLE_PLUGIN);
  cluster_spec cluster;
  cluster.plugins = {{p.name, p.version, p.library, {}}};
  cluster.actors = {{0, "nobody", node_id{0}}, {0, "listener", node_id{0}}};
  no_outbox out;
  const address self{node_id{0}, incarnation_id{1}, role::extension, 1};
  const auto made = make_extension(cluster, self, out);
  CHECK(made->self() == self);
  envelope e{self, self, drain{}};
  made->on(e, time_point{});
  std::vector<metric> report;
  made->report(report);
  REQUIRE(report.size() == 2);  // one belongs to the guard
  CHECK(report[0].value == 1);
  CHECK_THROWS_WITH(make_extension(cluster, {node_id{0}, incarnation_id{1}, role::extension, 0}, out),
                    "plug-in 'example' made no actor 'nobody'");
}

TEST_CASE("types of messages of two plug-ins never meet") {
  CHECK(first_plugin_type(0) + plugin_types <= first_plugin_type(1));
  CHECK(first_plugin_type(0) > 0);
}
