#include "config/changes.hpp"

#include "tests/config/workload_text.hpp"

using namespace troupe;

namespace {

const std::string small_load = "duration_s = 10\nrate_rps = 1\n";
using kind = change_event::kind;

}  // namespace

TEST_CASE("a deployment of a new model brings the model and its load, which begins then") {
  const auto w = good(small_load + R"([[deploy]]
at_s = 4
name = "new"
slo_ms = 40
profile = { alpha_ms = 1, beta_ms = 5 }
max_batch = 8
rate_rps = 30
rows = 2
)");
  REQUIRE(w.changes.size() == 1);
  CHECK(w.changes[0].what == kind::deploy);
  CHECK(w.changes[0].at == 4s);
  CHECK(w.changes[0].model.name == "new");
  CHECK(w.changes[0].model.max_batch == 8);
  REQUIRE(w.models.size() == 3);
  const auto& load = w.models[2];
  CHECK(load.model == model_id{2});
  CHECK(load.from == 4s);
  CHECK(load.rate_rps == 30);
  CHECK(load.rows == 2);
  CHECK(load.slo == 40ms);
  CHECK(load.latency == latency_model{1ms, 5ms});
}

TEST_CASE("a deployment of a known model needs its name only, and changes are sorted by time") {
  const auto w = good(small_load + R"([[deploy]]
at_s = 5
name = "m"
[[undeploy]]
at_s = 2
name = "m"
[[drain]]
at_s = 3
node = "worker"
back_after_s = 0.5
)");
  REQUIRE(w.changes.size() == 3);
  CHECK(w.changes[0].what == kind::undeploy);
  CHECK(w.changes[0].model.name == "m");
  CHECK(w.changes[1].what == kind::drain);
  CHECK(w.changes[1].node == node_id{1});
  CHECK(w.changes[1].back_after == 500ms);
  CHECK(w.changes[2].what == kind::redeploy);
  CHECK(w.models.size() == 2);
}

TEST_CASE("a model that is deployed may be undeployed and deployed again") {
  const auto w = good(small_load + R"([[deploy]]
at_s = 1
name = "new"
slo_ms = 40
profile = { alpha_ms = 1, beta_ms = 5 }
rate_rps = 3
[[undeploy]]
at_s = 2
name = "new"
[[deploy]]
at_s = 3
name = "new"
)");
  REQUIRE(w.changes.size() == 3);
  CHECK(w.changes[2].what == kind::redeploy);
  CHECK(w.models.size() == 3);
}

// clang-format off

TEST_CASE("a bad change is refused with its place and the fix") {
  check(small_load, {
      {"[[deploy]]\nname = 'm'", "3:1: deploy.at_s: is missing; it must be seconds in 0..604800"},
      {"[[deploy]]\nat_s = 10\nname = 'm'", "4:8: deploy.at_s: must be less than duration_s = 10, the end of the run"},
      {"[[deploy]]\nat_s = 1\nname = 'm'\nrate_rps = 3", "6:1: deploy: unknown key 'rate_rps'; known: at_s, name"},
      {"[[deploy]]\nat_s = 1\nname = 'x'\nslo_ms = 40\nprofile = { alpha_ms = 1, beta_ms = 5 }", "3:1: deploy.rate_rps: is missing; it must be requests a second in 0..1000000000"},
      {"[[deploy]]\nat_s = 1\nname = 'x'\nslo_ms = 40\nrate_rps = 1", "3:1: deploy.profile: an emulated device (node 'worker') cannot be measured; give { alpha_ms, beta_ms } or { file, name }"},
      {"[[deploy]]\nat_s = 1\nname = 'x'\nslo_ms = 40\nprofile = { alpha_ms = 1, beta_ms = 5 }\nrate_rps = 1\nmax_batch = 4\nrows = 5", "10:8: deploy.rows: must be an integer in 1..4, not 5"},
      {"[[undeploy]]\nat_s = 1\nname = 'x'", R"(5:8: undeploy.name: must be one of "m", "n", not "x")"},
      {"[[drain]]\nat_s = 1\nnode = 'frontend'", R"(5:8: drain.node: must be one of "head", "worker", not "frontend")"},
      {"[[drain]]\nat_s = 1\nnode = 'head'\nback_after_s = -1", "6:16: drain.back_after_s: must be seconds in 0..604800, not -1"},
  });
}

// clang-format on

TEST_CASE("a simulation cannot measure a model that is deployed on real devices") {
  const auto real = read(changed(changed(good_cluster, "emulated", "cpu"), "", "source = 'mlp.onnx'\n"));
  REQUIRE(listed(real.problems) == "");
  const auto text = small_load + R"([[deploy]]
at_s = 1
name = "x"
slo_ms = 40
rate_rps = 1
source = ")" TROUPE_FIXTURES "/onnx/mlp.onnx\"\n";
  CHECK(listed(read_workload_text(text, "w.toml", real.spec).problems) ==
        "w.toml:3:1: deploy.profile: a simulation cannot measure a profile; give { alpha_ms, beta_ms }\n");
}
