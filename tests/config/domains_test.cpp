// Tests of [[domain]], the keys that refer to one, and [placer].
#include "tests/config/cluster_text.hpp"

using namespace troupe;

namespace {

constexpr std::string_view two_domains = R"(name = "test"
[[domain]]
name = "left"
[[domain]]
name = "right"
max_rate_rps = 500
[placer]
epoch_s = 60
[[node]]
name = "head"
roles = ["gateway", "scheduler"]
control_port = 7701
http_port = 8080
[[node]]
name = "one"
roles = ["worker"]
domain = "left"
control_port = 7702
[[node.device]]
kind = "emulated"
count = 2
[[node]]
name = "two"
roles = ["worker"]
domain = "right"
control_port = 7703
[[node.device]]
kind = "emulated"
[[model]]
name = "m"
slo_ms = 20
domain = "right"
memory_mb = 100
batch_memory_mb = 10
profile = { alpha_ms = 1, beta_ms = 5 }
)";

std::string problems_with(std::string_view was, std::string_view is) {
  return listed(read(changed(two_domains, was, is)).problems);
}

}  // namespace

TEST_CASE("workers and models belong to a domain") {
  const auto c = read(two_domains);
  REQUIRE_MESSAGE(c.ok(), listed(c.problems));
  REQUIRE(c.spec.domains.size() == 2);
  CHECK(c.spec.domains[1].name == "right");
  CHECK(c.spec.domains[1].max_rate_rps == 500);
  CHECK(slot_domains(c.spec) == std::vector<uint32_t>{0, 0, 1});
  CHECK(c.spec.models[0].domain == 1);
  CHECK(c.spec.models[0].memory_bytes == 100 << 20);
  CHECK(c.spec.models[0].batch_bytes == 10 << 20);
  CHECK(c.spec.placer.epoch == 60s);
}

TEST_CASE("without a domain there is one for all") {
  const auto c = read(good_cluster);
  REQUIRE(c.ok());
  CHECK(domain_count(c.spec) == 1);
  CHECK(domain_name(c.spec, 0) == "");
  CHECK(slot_domains(c.spec) == std::vector<uint32_t>{0, 0});
  CHECK(c.spec.placer.epoch == 0s);
}

TEST_CASE("a problem of domains is reported with its place") {
  CHECK(problems_with("domain = \"left\"", "domain = \"lefd\"") ==
        "cluster.toml:17:10: node.domain: must be one of \"left\", \"right\", not \"lefd\"; did you mean "
        "'left'?\n");
  CHECK(problems_with("domain = \"right\"\ncontrol", "domain = \"left\"\ncontrol") ==
        "cluster.toml:5:8: domain.name: no worker belongs to domain 'right'; give a node domain = \"right\", "
        "or "
        "remove it\n");
  CHECK(
      problems_with("name = \"right\"", "name = \"left\"")
          .find(
              "cluster.toml:5:8: domain.name: domain 'left' is already defined in line 3; choose another") !=
      std::string::npos);
  CHECK(problems_with("http_port = 8080", "http_port = 8080\ndomain = \"left\"") ==
        "cluster.toml:14:10: node.domain: only a worker belongs to a domain; remove the key\n");
  CHECK(problems_with("domain = \"right\"\nmemory", "memory").find("model.domain: is missing") !=
        std::string::npos);
  CHECK(listed(read(changed(good_cluster, "slo_ms = 20", "slo_ms = 20\ndomain = \"x\"")).problems) ==
        "cluster.toml:21:10: model.domain: this file has no [[domain]]; add one for each sub-cluster, or "
        "remove this key\n");
  CHECK(listed(read(changed(good_cluster, "[limits]", "[placer]\nepoch_s = 1\n[limits]")).problems) ==
        "cluster.toml:5:11: placer.epoch_s: a placer needs domains; add a [[domain]] for each sub-cluster, "
        "or remove this key\n");
}

TEST_CASE("a cluster with domains has no standby yet") {
  CHECK(problems_with("[[model]]",
                      "[[node]]\nname = \"standby\"\nroles = [\"standby\"]\ncontrol_port = 7704\n"
                      "[[node]]\nname = \"other\"\nroles = [\"standby\"]\ncontrol_port = 7705\n"
                      "[[model]]") ==
        "cluster.toml:31:9: node.roles: a cluster with a [[domain]] cannot have a standby; remove the role "
        "\"standby\", or every [[domain]] and the keys that name one\n");
}

TEST_CASE("the hash of a cluster covers its domains") {
  const auto hash = read(two_domains).spec.hash;
  CHECK(read(changed(two_domains, "domain = \"right\"\nmemory", "domain = \"left\"\nmemory")).spec.hash !=
        hash);
}
