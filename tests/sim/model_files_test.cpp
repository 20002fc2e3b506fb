// Files of tensor models travel between workers that keep them in memory.
#include <algorithm>
#include <map>

#include "tests/sim/keeping_cluster.hpp"

using namespace troupe;
using namespace troupe::sim;

namespace {

workload_spec changing_workload(const cluster_spec& c) {
  auto w = small_workload(c);
  const auto change_at = [&](change what, duration at, const char* name) {
    auto m = c.models[1];
    m.name = name;
    m.path = "/models/late.onnx";
    w.changes.push_back({what, at, m, {}, {}});
  };
  change_at(change::deploy, 300ms, "late");
  change_at(change::undeploy, 600ms, "quick");
  change_at(change::redeploy, 1s, "quick");
  change_at(change::undeploy, 1500ms, "late");
  return w;
}

}  // namespace

TEST_CASE("model files: one worker reads them, and the others pull each byte once") {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    const auto c = keeping_cluster();
    const auto r = run(c, small_workload(c), {.seed = seed});
    const auto why = told(r, seed);
    CHECK_MESSAGE(r.violations.empty(), why);
    CHECK(r.total.of(client_outcome::finished) > 100);
    std::map<std::string, std::vector<copy_state>> copies;
    for (const auto& copy : r.pool.copies) copies[copy.model].push_back(copy);
    REQUIRE(copies.size() == 3);
    for (const auto& [model, of] : copies) {
      CAPTURE(model);
      CHECK(of.size() == 4);
      CHECK(std::ranges::count(of, 0u, &copy_state::pulled) == 1);
      for (const auto& copy : of) {
        CHECK(copy.ready == copy.chunks);
        CHECK(copy.repeated == 0);
        CHECK((copy.pulled == 0 || copy.pulled > copy.bytes - 5 * 64));  // but for padding between layers
      }
    }
  }
}

TEST_CASE("model files: all invariants hold under faults while models come and go") {
  size_t hits = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    const auto c = keeping_cluster();
    auto w = changing_workload(c);
    w.random_faults.count = 4;
    for (size_t k = 0; k < fault_kind_count; ++k) w.random_faults.kinds.push_back(static_cast<fault_kind>(k));
    const auto r = run(c, w, {.seed = seed, .hang_up = 0.02});
    const auto why = told(r, seed);
    CHECK_MESSAGE(r.violations.empty(), why);
    for (const auto n : r.hits_of_transfers) hits += n;
  }
  CHECK(hits > 10);
}

TEST_CASE("model files: a run with them is the same again") {
  const auto c = keeping_cluster();
  const auto w = changing_workload(c);
  CHECK(run(c, w, {.seed = 7}).trace_hash == run(c, w, {.seed = 7}).trace_hash);
}
