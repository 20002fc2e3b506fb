#include <set>

#include "actors/planted_bug.hpp"
#include "tests/sim/text_cluster.hpp"

using namespace troupe;
using namespace troupe::sim;

namespace {

/// The invariants that runs with the bug break; operators move texts, and clients leave.
std::set<std::string> broken_with_texts(bug b, const char* wanted) {
  std::set<std::string> broken;
  planted_bug = b;
  for (uint64_t seed = 1; seed <= 10 && !broken.contains(wanted); ++seed)
    for (const auto& v : run(text_cluster(), text_workload(20), {.seed = seed}).violations)
      broken.insert(v.check);
  planted_bug = bug::none;
  return broken;
}

bool breaks_with_texts(bug b, const char* invariant) {
  return broken_with_texts(b, invariant).contains(invariant);
}

}  // namespace

TEST_CASE("texts: without a bug no invariant is broken") {
  CHECK(broken_with_texts(bug::none, "any").empty());
}

TEST_CASE("texts: an engine that goes on from less than its client has seen is noticed") {
  CHECK(breaks_with_texts(bug::forget_token, "text"));
}

TEST_CASE("texts: tokens of an engine that a text has left are noticed") {
  CHECK(breaks_with_texts(bug::old_engine, "text"));
}

TEST_CASE("texts: a KV block of another text is noticed") {
  CHECK(breaks_with_texts(bug::mixed_pages, "text"));
}

TEST_CASE("texts: another adapter in the slot is noticed") {
  CHECK(breaks_with_texts(bug::wrong_slot, "text"));
}

TEST_CASE("texts: a router that is not told of ends is noticed") {
  CHECK(breaks_with_texts(bug::keep_route, "router"));
}

TEST_CASE("texts: an engine that goes on with what was cancelled is noticed") {
  CHECK(breaks_with_texts(bug::deaf_engine, "calm"));
}

TEST_CASE("texts: another text's token in a step ahead is noticed") {
  CHECK(breaks_with_texts(bug::wrong_row, "text"));
}

TEST_CASE("texts: an adapter that is taken away from a step ahead is noticed") {
  CHECK(breaks_with_texts(bug::hasty_slot, "calm"));
}
