// A language model whose prefills and decodes are disaggregated, under faults: every stream has the tokens of
// an undisturbed run, and nothing is computed twice while both engines of a request live.
#include <algorithm>

#include "tests/sim/scaling_cluster.hpp"

using namespace troupe;
using namespace troupe::sim;

namespace {

/// Of six engines on three nodes, two prefill.
cluster_spec disaggregated_cluster() {
  auto c = llm_cluster("least_loaded");
  auto& m = c.llms[0];
  m.prefill_instances = 2;
  m.decode_instances = 4;
  for (size_t i = 0; i < c.engines.size(); ++i)
    c.engines[i].phase = i == 0 || i == 2 ? instance_phase::prefill : instance_phase::decode;
  return c;
}

}  // namespace

TEST_CASE(
    "disaggregated: without faults prompts are computed by some engines, and further tokens by others") {
  auto c = disaggregated_cluster();
  c.llms[0].kv_bytes = 4000;  // no preemption
  c.llms[0].consolidate_every = {};
  uint64_t pulls = 0, decoded = 0;
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    CAPTURE(seed);
    const auto r = run(c, llm_workload(0), {.seed = seed});
    check_sequences(r, seed);
    CHECK(r.llms[0].of(client_outcome::failed) == 0);
    for (size_t i = 0; i < r.engines.size(); ++i) {
      const auto& e = r.engines[i];
      CAPTURE(i);
      CHECK(e.kv_leases == 0);
      CHECK(e.kv_pulls_failed == 0);
      CHECK(e.preemptions == 0);
      if (c.engines[i].phase == instance_phase::prefill) {
        CHECK(e.kv_pulls == 0);
        CHECK(e.generated_tokens * 3 < e.computed_tokens);  // one token of each sequence
      } else {
        CHECK(e.computed_tokens >= e.generated_tokens);
        CHECK(e.computed_tokens < 1.03 * e.generated_tokens);  // rows of steps that were begun ahead
        pulls += e.kv_pulls;
        decoded += e.generated_tokens;
      }
    }
  }
  CHECK(pulls > 2000);
  CHECK(decoded > 50'000);
}

TEST_CASE("disaggregated: every stream is a correct prefix, whatever hits its hand-over") {
  const std::vector kinds{fault_kind::delay,   fault_kind::stall,     fault_kind::cut,
                          fault_kind::crash,   fault_kind::freeze,    fault_kind::restart,
                          fault_kind::reorder, fault_kind::slow_link, fault_kind::clock_drift};
  auto c = disaggregated_cluster();
  c.links.emplace_back().gbit_per_s = 0.004;
  for (const auto& n : c.nodes) c.links[0].nodes.push_back(n.name);
  fault_counts hits{};
  uint64_t pulls = 0, finished = 0, offered = 0;
  for (uint64_t seed = 1; seed <= 250; ++seed) {
    auto w = llm_workload(10);
    w.random_faults.count = 5;
    w.random_faults.kinds = kinds;
    const auto r = run(c, w, {.seed = seed});
    check_sequences(r, seed);
    finished += r.llms[0].of(client_outcome::finished);
    offered += r.llms[0].offered;
    for (const auto& e : r.engines) pulls += e.kv_pulls;
    for (size_t k = 0; k < fault_kind_count; ++k) hits[k] += r.hits_of_handovers[k];
  }
  fmt::print("{} generation requests, {} finished, {} pulls of keys and values; faults hit hand-overs:",
             offered, finished, pulls);
  for (const auto k : kinds) fmt::print(" {} {}", to_string(k), hits[static_cast<size_t>(k)]);
  fmt::print("\n");
  CHECK(finished > offered / 2);
  for (const auto k : kinds) CHECK(hits[static_cast<size_t>(k)] >= 10);
}

TEST_CASE("disaggregated: while all engines of a phase are away, the others serve, and no stream ends") {
  auto c = disaggregated_cluster();
  for (size_t i = 0; i < c.engines.size(); ++i)  // one node prefills
    c.engines[i].phase = c.engines[i].node == node_id{2} ? instance_phase::prefill : instance_phase::decode;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    auto w = llm_workload(0);
    w.length = 5s;
    fault_spec f;
    f.kind = fault_kind::restart;
    f.at = 2500ms;  // routers do not wait for engines any more
    f.length = 1500ms;
    f.a = f.b = node_id{2};
    w.faults = {f};
    const auto r = run(c, w, {.seed = seed});
    check_sequences(r, seed);
    CAPTURE(seed);
    CHECK(r.llms[0].of(client_outcome::failed) == 0);
    CHECK(r.llms[0].of(client_outcome::finished) > r.llms[0].offered / 2);
  }
}

TEST_CASE("disaggregated: instances change their phase under load and faults, and no stream notices") {
  uint64_t orders = 0, mutations = 0;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    const auto c = with_phases(scaling_cluster(1 + seed % 2));
    auto w = scaling_workload(c, 50);
    w.random_faults.count = 3;
    w.random_faults.kinds = transfer_faults;
    const auto r = run(c, w, {.seed = seed});
    check_sequences(r, seed);
    orders += r.llm_changes.scales;
    for (const auto& e : r.engines) mutations += e.phase == "decode";
  }
  CHECK(orders > 500);
  CHECK(mutations > 100);
}

TEST_CASE("disaggregated: a burst gets instances of both phases, which go when it is over") {
  uint64_t finished = 0, offered = 0;
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    CAPTURE(seed);
    auto c = with_loops(with_phases(scaling_cluster(1 + seed % 2)));
    c.llms[0].kv_bytes = 4000;
    auto w = burst_workload(40);
    for (auto& asked : w.llm_trace) asked.prompt_tokens = 60, asked.output_tokens = 20;
    const auto r = run(c, w, {.seed = seed});
    check_sequences(r, seed);
    uint32_t most_prefill = 0, most_decode = 0;
    for (const auto& d : r.scaling_decisions) {
      most_prefill = std::max(most_prefill, d.to_prefill);
      most_decode = std::max(most_decode, d.to - d.to_prefill);
    }
    CHECK(most_prefill >= 2);
    CHECK(most_decode >= 2);
    REQUIRE(r.pool.wanted.size() == 1);
    CHECK(r.pool.wanted[0].instances == 2);
    CHECK(r.pool.wanted[0].prefill == 1);
    CHECK(r.llms[0].of(client_outcome::failed) == 0);
    finished += r.llms[0].of(client_outcome::finished);
    offered += r.llms[0].offered;
  }
  CHECK(finished == offered);
}
