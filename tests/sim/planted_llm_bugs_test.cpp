#include <set>

#include "actors/common/planted_bug.hpp"
#include "tests/sim/llm_cluster.hpp"

using namespace troupe;
using namespace troupe::sim;

namespace {

/// The invariants that runs with the bug violate; operators migrate sequences, and clients hang up.
std::set<std::string> broken_in_llm_runs(bug b, const char* wanted) {
  std::set<std::string> broken;
  planted_bug = b;
  for (uint64_t seed = 1; seed <= 10 && !broken.contains(wanted); ++seed)
    for (const auto& v : run(llm_cluster(), llm_workload(20), {.seed = seed}).violations)
      broken.insert(v.check);
  planted_bug = bug::none;
  return broken;
}

bool breaks_llm_run(bug b, const char* invariant) {
  return broken_in_llm_runs(b, invariant).contains(invariant);
}

}  // namespace

TEST_CASE("llm: without a bug no invariant is broken") {
  CHECK(broken_in_llm_runs(bug::none, "any").empty());
}

TEST_CASE("llm: the invariants detect an engine that continues behind its client's tokens") {
  CHECK(breaks_llm_run(bug::forget_token, "sequence"));
}

TEST_CASE("llm: the invariants detect a KV block of another sequence") {
  CHECK(breaks_llm_run(bug::mixed_pages, "sequence"));
}

TEST_CASE("llm: the invariants detect a wrong adapter in a slot") {
  CHECK(breaks_llm_run(bug::wrong_slot, "sequence"));
}

TEST_CASE("llm: the invariants detect a router that misses the ends of requests") {
  CHECK(breaks_llm_run(bug::keep_route, "router"));
}

TEST_CASE("llm: the invariants detect an engine that continues cancelled sequences") {
  CHECK(breaks_llm_run(bug::deaf_engine, "home"));
}

TEST_CASE("llm: the invariants detect the token of another sequence in a step begun ahead") {
  CHECK(breaks_llm_run(bug::wrong_row, "sequence"));
}

TEST_CASE("llm: the invariants detect an adapter that is unloaded under a step begun ahead") {
  CHECK(breaks_llm_run(bug::hasty_slot, "fault free"));
}

TEST_CASE("llm: the invariants detect evicted KV blocks that count as cached") {
  CHECK(breaks_llm_run(bug::stale_block, "sequence"));
}

TEST_CASE("llm: the invariants detect KV blocks that adapters share") {
  CHECK(breaks_llm_run(bug::wrong_adapter_block, "sequence"));
}

TEST_CASE("llm: the invariants detect KV blocks that are evicted while sequences hold them") {
  CHECK(breaks_llm_run(bug::freed_in_use, "sequence"));
}

TEST_CASE("llm: the invariants detect an engine that continues a request that it has handed over") {
  CHECK(breaks_llm_run(bug::double_home, "home"));
}

TEST_CASE("llm: the invariants detect leases that never end") {
  CHECK(breaks_llm_run(bug::leak_lease, "memory"));
}

TEST_CASE("llm: the invariants detect KV blocks that are reused before they have been pulled") {
  CHECK(breaks_llm_run(bug::freed_lease, "sequence"));
}
