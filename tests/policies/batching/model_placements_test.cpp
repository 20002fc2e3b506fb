#include "policies/batching/model_placements.hpp"

#include <doctest/doctest.h>

using namespace troupe;

namespace {

constexpr address worker_in(uint64_t incarnation, uint32_t node = 1) {
  return {node_id{node}, {incarnation}, role::gpu_worker, 0};
}
constexpr latency_model fast{1ms, 5ms}, steep{3ms, 1ms};

}  // namespace

TEST_CASE("model_placements: slots of the model's own domain count, and the slowest sets the latency") {
  model_placements p({0, 0, 1}, 0);
  CHECK_FALSE(p.changed());
  p.set(slot_id{0}, worker_in(1), fast);
  p.set(slot_id{1}, worker_in(1), steep);
  p.set(slot_id{2}, worker_in(1), latency_model{9ms, 9ms});  // of another domain
  CHECK(p.changed());
  auto s = p.take_summary();
  CHECK_FALSE(p.changed());
  CHECK(s.here == 2);
  CHECK(s.in_service == 2);
  CHECK(s.slowest == latency_model{3ms, 5ms});
  p.set(slot_id{1}, worker_in(1), {});  // unloaded
  CHECK(p.summary().here == 1);
  p.set(slot_id{7}, worker_in(1), fast);  // beyond the list: domain 0
  CHECK(p.summary().here == 2);
}

TEST_CASE("model_placements: a slot out of service has the model, but does not serve") {
  model_placements p({}, 0);
  p.set_service(slot_id{0}, false);  // before the slot is known
  p.set(slot_id{0}, worker_in(1), fast);
  p.set(slot_id{1}, worker_in(1), fast);
  CHECK(p.summary().here == 2);
  CHECK(p.summary().in_service == 1);
  p.clear();
  p.set(slot_id{0}, worker_in(1), fast);
  CHECK(p.summary().in_service == 0);
  p.set_service(slot_id{0}, true);
  CHECK(p.summary().in_service == 1);
}

TEST_CASE(
    "model_placements: a change of workers is reported once, a new measurement of the same worker is not") {
  model_placements p({}, 0);
  p.set(slot_id{0}, worker_in(1), fast);
  CHECK(p.take_summary().replaced);
  CHECK_FALSE(p.take_summary().replaced);
  p.set(slot_id{0}, worker_in(1), steep);
  CHECK_FALSE(p.take_summary().replaced);
  p.set(slot_id{0}, worker_in(2), steep);
  CHECK(p.take_summary().replaced);
  p.forget(node_id{1}, {1});  // an earlier incarnation
  CHECK_FALSE(p.take_summary().replaced);
  p.forget(node_id{1}, {2});
  const auto s = p.take_summary();
  CHECK(s.replaced);
  CHECK(s.here == 0);
}

TEST_CASE("model_placements: a grant is for an incarnation of a worker that has the model") {
  model_placements p({}, 0);
  p.set(slot_id{0}, worker_in(2), fast);
  CHECK(p.has(slot_id{0}, {2}));
  CHECK_FALSE(p.has(slot_id{0}, {1}));
  CHECK_FALSE(p.has(slot_id{1}, {2}));
}

TEST_CASE("model_placements: in another domain its slots count, and all of them are in service") {
  model_placements p({0, 1}, 0);
  p.set(slot_id{0}, worker_in(1), fast);
  p.set(slot_id{1}, worker_in(1), steep);
  p.set_service(slot_id{1}, false);
  p.take_summary();
  p.go_over_to(1);
  const auto s = p.take_summary();
  CHECK(s.here == 1);
  CHECK(s.in_service == 1);
  CHECK(s.slowest == steep);
  CHECK(s.replaced);
}

TEST_CASE("model_placements: slots that no worker has reported are expected for a while") {
  model_placements p({0, 0, 1}, 0, {node_id{1}, node_id{2}, node_id{3}});
  const time_point until{5s};
  CHECK(p.summary().expected_until == long_ago);  // nobody awaits them
  p.set(slot_id{0}, worker_in(1), {});
  p.await(until);
  CHECK(p.changed());
  CHECK(p.take_summary().expected_until == until);
  SUBCASE("until they are reported, with the model or without it") {
    p.set(slot_id{1}, worker_in(1, 2), {});
    CHECK(p.summary().expected_until == long_ago);
    p.go_over_to(1);
    CHECK(p.summary().expected_until == until);  // slot 2
  }
  SUBCASE("until their node goes down") {
    p.forget(node_id{2}, {1});
    CHECK(p.summary().expected_until == long_ago);
  }
  SUBCASE("and not for the loss of a node that has reported") {
    p.set(slot_id{1}, worker_in(7, 2), fast);
    p.forget(node_id{2}, {7});
    CHECK(p.summary().expected_until == long_ago);
    p.await(until);  // by the next leader
    CHECK(p.summary().expected_until == until);
    p.set(slot_id{1}, worker_in(9, 2), fast);
    p.forget(node_id{2}, {8});  // an earlier incarnation
    p.await(until);
    CHECK(p.summary().expected_until == long_ago);
  }
  SUBCASE("until this node begins a new incarnation") {
    p.clear();
    CHECK(p.summary().expected_until == long_ago);
  }
}
