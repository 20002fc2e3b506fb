#include "tools/client/find_leader.hpp"

#include <doctest/doctest.h>

using namespace troupe;

namespace {

cluster_spec a_cluster(size_t standbys) {
  cluster_spec c;
  for (size_t i = 0; i <= standbys; ++i) {
    auto& n = c.nodes.emplace_back();
    n.name = i == 0 ? "first" : "standby" + std::to_string(i);
    n.roles = {i == 0 ? node_role::scheduler : node_role::standby};
  }
  return c;
}

nlohmann::json says(const char* leader, uint64_t term) {
  return {{"leader", {{"scheduler", leader}, {"term", term}, {"takeovers", 1}}}};
}

}  // namespace

TEST_CASE("find_leader: the node with the latest term is the leader") {
  const std::vector<nlohmann::json> answers{
      says("first", 100), says("standby2", 205), {{"error", "no node answers"}}};
  CHECK(find_leader(a_cluster(2), [&](node_id n) { return answers[n.value]; }) == node_id{2});
}

TEST_CASE("find_leader: without an answer, or a standby, it is the first of the file") {
  CHECK(find_leader(a_cluster(1), [](node_id) { return nlohmann::json{}; }) == node_id{0});
  CHECK(find_leader(a_cluster(1), [](node_id) { return says("a stranger", 9); }) == node_id{0});
  CHECK(find_leader(a_cluster(0), [](node_id) -> nlohmann::json {
          FAIL("asked");
          return {};
        }) == node_id{0});
}
