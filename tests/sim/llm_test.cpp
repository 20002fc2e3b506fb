// Language models on many engines under faults: every stream has the tokens of an undisturbed run, and all
// resources are returned.
#include "policies/llm/routing_policy.hpp"
#include "tests/sim/llm_cluster.hpp"

using namespace troupe;
using namespace troupe::sim;

namespace {

const std::vector llm_faults{fault_kind::delay,     fault_kind::stall,   fault_kind::cut,
                             fault_kind::crash,     fault_kind::freeze,  fault_kind::restart,
                             fault_kind::slow_link, fault_kind::reorder, fault_kind::clock_drift};

}  // namespace

TEST_CASE("llm: without faults no request fails under any command of operators") {
  uint64_t moved = 0, pulls = 0, failed_pulls = 0;
  llm_operator::counts changes;
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    CAPTURE(seed);
    const auto r = run(llm_cluster(), llm_workload(20), {.seed = seed});
    check_sequences(r, seed);
    CHECK(r.llms[0].of(client_outcome::failed) == 0);
    CHECK(r.llms[0].of(client_outcome::finished) > r.llms[0].offered / 2);
    moved += r.llms[0].moved;
    for (const auto& e : r.engines) {
      pulls += e.kv_pulls;
      failed_pulls += e.kv_pulls_failed;
      CHECK(e.kv_leases == 0);
    }
    changes.migrations += r.llm_changes.migrations;
    changes.drains += r.llm_changes.drains;
    changes.adapter_changes += r.llm_changes.adapter_changes;
  }
  CHECK(moved > 500);
  CHECK(pulls > 300);
  CHECK(failed_pulls == 0);
  CHECK(changes.migrations > 200);
  CHECK(changes.drains > 100);
  CHECK(changes.adapter_changes > 100);
}

TEST_CASE("llm: every stream is a correct prefix under faults, over two hundred seeds") {
  uint64_t moved = 0, finished = 0, offered = 0, refused[2]{};
  fault_counts injected{};
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    auto w = llm_workload(10);
    w.random_faults.count = 3;
    w.random_faults.kinds = llm_faults;
    const auto names = routing_policies().names();
    auto c = llm_cluster(names[seed % names.size()]);
    if (seed % 2 == 0) {
      c.llms[0].prefill = "deferred";
      w.llms[0].ttft = 300ms;
      w.llms[0].tpot = 10ms;
      w.llms[0].max_priority = 2;
    }
    const auto r = run(c, w, {.seed = seed});
    check_sequences(r, seed);
    refused[seed % 2] += r.llms[0].of(client_outcome::dropped);
    moved += r.llms[0].moved;
    finished += r.llms[0].of(client_outcome::finished);
    offered += r.llms[0].offered;
    for (size_t k = 0; k < fault_kind_count; ++k) injected[k] += r.faults[k];
  }
  fmt::print("{} generation requests, {} finished, {} went on on another node\n", offered, finished, moved);
  CHECK(refused[0] > refused[1]);  // with targets
  CHECK(moved > 1200);
  CHECK(finished > offered / 2);
  CHECK(injected[static_cast<size_t>(fault_kind::crash)] > 40);
}

TEST_CASE("llm: hand-overs over slow links, hit by every kind of fault, leave every stream as it was") {
  auto c = llm_cluster("least_loaded");
  c.links.emplace_back().gbit_per_s = 0.004;
  for (const auto& n : c.nodes) c.links[0].nodes.push_back(n.name);
  fault_counts hits{};
  uint64_t pulls = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    auto w = llm_workload(120);
    w.random_faults.count = 8;
    w.random_faults.kinds = llm_faults;
    const auto r = run(c, w, {.seed = seed});
    check_sequences(r, seed);
    for (const auto& e : r.engines) pulls += e.kv_pulls;
    for (size_t k = 0; k < fault_kind_count; ++k) hits[k] += r.hits_of_handovers[k];
  }
  fmt::print("{} pulls of keys and values; faults hit hand-overs:", pulls);
  for (const auto k : llm_faults) fmt::print(" {} {}", to_string(k), hits[static_cast<size_t>(k)]);
  fmt::print("\n");
  for (const auto k : llm_faults) CHECK(hits[static_cast<size_t>(k)] >= 10);
}

TEST_CASE("llm: sequences of a crashed engine continue on other engines, and none fails") {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    auto w = llm_workload(0);
    fault_spec f;
    f.kind = fault_kind::crash;
    f.at = 1s;
    f.a = f.b = node_id{3};
    w.faults = {f};
    const auto r = run(llm_cluster(), w, {.seed = seed});
    check_sequences(r, seed);
    CAPTURE(seed);
    CHECK(r.llms[0].of(client_outcome::failed) == 0);
  }
}

TEST_CASE("llm: the death of a router ends no started stream") {
  auto c = llm_cluster();
  c.nodes[0].roles = {node_role::scheduler};  // the other node is the only gateway
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    auto w = llm_workload(0);
    fault_spec f;
    f.kind = fault_kind::restart;
    f.at = 1s;
    f.length = 200ms;
    f.a = f.b = node_id{0};
    w.faults = {f};
    const auto r = run(c, w, {.seed = seed});
    check_sequences(r, seed);
    CAPTURE(seed);
    CHECK(r.llms[0].of(client_outcome::failed) == 0);
  }
}

TEST_CASE("llm: the same seed gives the same run") {
  const auto w = llm_workload(20);
  const auto one = run(llm_cluster(), w, {.seed = 7}), two = run(llm_cluster(), w, {.seed = 7});
  CHECK(one.trace_hash == two.trace_hash);
  CHECK(one.llms[0].tokens == two.llms[0].tokens);
  CHECK(one.trace_hash != run(llm_cluster(), w, {.seed = 8}).trace_hash);
}
