// Language models with many engines, while everything goes wrong: every stream has the tokens that it would
// have had undisturbed, and everything comes back.
#include "policies/text_routing.hpp"
#include "tests/sim/text_cluster.hpp"

using namespace troupe;
using namespace troupe::sim;

namespace {

void check_texts(const world_result& r, uint64_t seed) {
  const auto why = told(r, seed);
  CHECK_MESSAGE(r.violations.empty(), why);
  uint64_t fates = 0;
  for (const auto n : r.texts[0].fates) fates += n;
  CHECK(fates == r.texts[0].offered);
}

}  // namespace

TEST_CASE("texts: while nothing goes wrong no request fails, whatever operators do") {
  uint64_t moved = 0;
  text_operator::counts changes;
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    CAPTURE(seed);
    const auto r = run(text_cluster(), text_workload(20), {.seed = seed});
    check_texts(r, seed);
    CHECK(r.texts[0].of(fate::failed) == 0);
    CHECK(r.texts[0].of(fate::finished) > r.texts[0].offered / 2);
    moved += r.texts[0].moved;
    changes.migrations += r.text_changes.migrations;
    changes.drains += r.text_changes.drains;
    changes.adapter_changes += r.text_changes.adapter_changes;
  }
  CHECK(moved > 500);
  CHECK(changes.migrations > 200);
  CHECK(changes.drains > 100);
  CHECK(changes.adapter_changes > 100);
}

TEST_CASE("texts: whatever goes wrong every stream is right as far as it goes, over five hundred seeds") {
  uint64_t moved = 0, finished = 0, offered = 0, refused[2]{};
  fault_counts injected{};
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    auto w = text_workload(10);
    w.random_faults.count = 3;
    for (const auto k :
         {fault_kind::delay, fault_kind::stall, fault_kind::cut, fault_kind::crash, fault_kind::freeze,
          fault_kind::restart, fault_kind::slow_link, fault_kind::reorder, fault_kind::clock_drift})
      w.random_faults.kinds.push_back(k);
    const auto names = text_routings().names();
    auto c = text_cluster(names[seed % names.size()]);
    if (seed % 2 == 0) {
      c.llms[0].prefill = "deferred";
      w.texts[0].ttft = 300ms;
      w.texts[0].tpot = 10ms;
      w.texts[0].most_priority = 2;
    }
    const auto r = run(c, w, {.seed = seed});
    check_texts(r, seed);
    refused[seed % 2] += r.texts[0].of(fate::dropped);
    moved += r.texts[0].moved;
    finished += r.texts[0].of(fate::finished);
    offered += r.texts[0].offered;
    for (size_t k = 0; k < fault_kind_count; ++k) injected[k] += r.faults[k];
  }
  fmt::print("{} requests for text, {} finished, {} went on on another node\n", offered, finished, moved);
  CHECK(refused[0] > refused[1]);  // with targets
  CHECK(moved > 3000);
  CHECK(finished > offered / 2);
  CHECK(injected[static_cast<size_t>(fault_kind::crash)] > 100);
}

TEST_CASE("texts: a crashed engine's texts go on elsewhere, and none fails") {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    auto w = text_workload(0);
    fault_spec f;
    f.kind = fault_kind::crash;
    f.at = 1s;
    f.a = f.b = node_id{3};
    w.faults = {f};
    const auto r = run(text_cluster(), w, {.seed = seed});
    check_texts(r, seed);
    CAPTURE(seed);
    CHECK(r.texts[0].of(fate::failed) == 0);
  }
}

TEST_CASE("texts: a router that dies costs no stream that has begun") {
  auto c = text_cluster();
  c.nodes[0].roles = {node_role::scheduler};  // the other is the only gateway
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    auto w = text_workload(0);
    fault_spec f;
    f.kind = fault_kind::restart;
    f.at = 1s;
    f.length = 200ms;
    f.a = f.b = node_id{0};
    w.faults = {f};
    const auto r = run(c, w, {.seed = seed});
    check_texts(r, seed);
    CAPTURE(seed);
    CHECK(r.texts[0].of(fate::failed) == 0);
  }
}

TEST_CASE("texts: the same seed gives the same run") {
  const auto w = text_workload(20);
  const auto one = run(text_cluster(), w, {.seed = 7}), two = run(text_cluster(), w, {.seed = 7});
  CHECK(one.trace_hash == two.trace_hash);
  CHECK(one.texts[0].tokens == two.texts[0].tokens);
  CHECK(one.trace_hash != run(text_cluster(), w, {.seed = 8}).trace_hash);
}
