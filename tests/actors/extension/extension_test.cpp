#include "actors/extension/extension.hpp"

#include "tests/actors/extension/counting_kind.hpp"

using namespace troupe;

TEST_CASE(
    "extension: an actor of a plug-in is created by its position in the cluster file, and gets messages") {
  const auto cluster = counting_cluster();
  no_outbox out;
  const address self{node_id{0}, incarnation_id{1}, role::extension, 1};
  const auto made = make_extension(cluster, self, out);
  CHECK(made->self() == self);
  envelope e{self, self, drain{}};
  made->on(e, time_point{});
  std::vector<metric> report;
  made->report(report);
  REQUIRE(report.size() == 2);  // one is its guard's
  CHECK(report[0].value == 1);
}

TEST_CASE("extension: an unregistered kind creates no actor, and has no commands") {
  const auto cluster = counting_cluster();
  no_outbox out;
  CHECK_THROWS_WITH(make_extension(cluster, {node_id{0}, incarnation_id{1}, role::extension, 0}, out),
                    "plug-in 'counting' created no actor 'nobody'");
  CHECK(kind_of_extension(cluster, 0) == nullptr);
  CHECK(kind_of_extension(cluster, 1) != nullptr);
  CHECK(kind_of_extension(cluster, 2) == nullptr);
}

TEST_CASE("extension: message types of two plug-ins are disjoint") {
  CHECK(first_plugin_type(0) + plugin_types <= first_plugin_type(1));
  CHECK(first_plugin_type(0) > 0);
}
