// The bound on outputs in the memory of a gateway.
#include "tests/actors/tensor/gateway_stage.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

constexpr uint64_t buffer_bytes = pulled_bytes({worker_node, {1}, memory_kind::host, 0, 8, 1});

/// Of one worker, two outputs of 8 bytes are pulled at a time.
struct narrow_stage : gateway_stage {
  narrow_stage() : gateway_stage(with_room()) {}
  static gateway::options with_room() {
    auto o = options(100);
    o.max_pulled_bytes = 4 * buffer_bytes;
    return o;
  }
  /// The output of a worker.
  void complete_with(uint64_t id, uint64_t bytes, const address& worker = worker_of(0)) {
    deliver(completion{{1}, 1, {{request_id{id}, 1, failure::none, far.take(bytes)->region, {}}}}, worker);
  }
  std::vector<uint64_t> pulled() const {
    std::vector<uint64_t> ids;
    for (const auto& p : memory.pulls) ids.push_back(p.token);
    return ids;
  }
  void run_all(uint64_t count) {
    for (uint64_t id = 1; id <= count; ++id) arrive(id);
    for (uint64_t id = 1; id <= count; ++id) complete(id);
  }
};

}  // namespace

TEST_CASE("gateway: outputs are pulled in order, as room permits") {
  narrow_stage g;
  g.run_all(4);
  CHECK(g.memory.pulls.size() == 2);
  for (uint64_t id = 1; id <= 4; ++id) {
    CHECK(g.open(id));
    REQUIRE(!g.memory.pulls.empty());
    CHECK(g.memory.pulls.front().token == id);
    g.end_pull();
    CHECK(g.outcome_of(id).kind == outcome_kind::finished);
  }
  CHECK(g.memory.pulls.empty());
  g.check_clean();
}

TEST_CASE("gateway: unwritten answers take room, and pulls resume by timer once they are written") {
  narrow_stage g;
  g.unwritten = 1000;
  g.run_all(2);
  CHECK(g.memory.pulls.empty());
  g.run_until(g.now + 5ms);
  CHECK(g.memory.pulls.empty());
  g.unwritten = 0;
  g.run_until(g.now + 2ms);
  CHECK(g.memory.pulls.size() == 2);
  g.end_pull(), g.end_pull();
  CHECK(g.actor.next_wakeup() > g.now + 5ms);
  g.check_clean();
}

TEST_CASE("gateway: an output larger than the room for all is pulled alone") {
  auto o = gateway_stage::options(100);
  o.max_pulled_bytes = 1;
  gateway_stage g(o);
  g.arrive(1), g.arrive(2);
  g.complete(1), g.complete(2);
  CHECK(g.memory.pulls.size() == 1);
  g.end_pull();
  CHECK(g.memory.pulls.size() == 1);
  g.end_pull();
  CHECK(g.outcome_of(2).kind == outcome_kind::finished);
  g.check_clean();
}

TEST_CASE("gateway: outputs that wait for room are released if their request ends") {
  narrow_stage g;
  g.run_all(5);
  g.deliver(client_gone{request_id{4}});
  CHECK(g.outcome_of(4).kind == outcome_kind::dropped);
  CHECK(g.out.take_addressed<release>().size() == 1);  // of 4, at once
  g.run_until(g.now + 200ms);
  for (uint64_t id : {3, 5}) CHECK(g.outcome_of(id).error == failure::timeout);
  g.end_pull(), g.end_pull();
  CHECK(g.memory.pulls.empty());
  CHECK(g.actor.balanced());
  CHECK(g.actor.unfinished() == 0);
}

TEST_CASE("gateway: a large output waits for room while small ones are pulled before it") {
  narrow_stage g;
  for (uint64_t id : {1, 2, 3}) g.arrive(id);
  g.complete_with(1, 8);
  g.complete_with(2, 4 * buffer_bytes);
  g.complete_with(3, 8);
  CHECK(g.pulled() == std::vector<uint64_t>{1, 3});
  g.end_pull();
  CHECK(g.pulled() == std::vector<uint64_t>{3});
  g.end_pull();
  CHECK(g.pulled() == std::vector<uint64_t>{2});
  g.end_pull();
  g.check_clean();
}

TEST_CASE("gateway: a stalled worker does not block the outputs of other workers") {
  const address other{node_id{7}, {17}, role::gpu_worker, 3};
  narrow_stage g;
  for (uint64_t id = 1; id <= 5; ++id) g.arrive(id);
  for (uint64_t id : {1, 2, 3, 4}) g.complete_with(id, 8);
  g.complete_with(5, 8, other);
  CHECK(g.pulled() == std::vector<uint64_t>{1, 2, 5});
}

TEST_CASE("gateway: a request whose outputs wait on a dying worker runs again, with its input") {
  narrow_stage g;
  g.run_all(3);
  g.out.forget();
  g.deliver(node_down{worker_node, {12}});
  const auto again = g.out.one<submit>().requests;
  REQUIRE(again.size() == 1);
  CHECK(again[0].id == request_id{3});
  CHECK(again[0].attempt == 2);
  CHECK(g.memory.in_use() == 3);
  g.end_pull(pull_status::lost), g.end_pull(pull_status::lost);
  CHECK(g.out.take<submit>().size() == 2);  // the others, too
  for (const uint64_t id : {1, 2, 3}) {
    g.deliver(completion{{2}, 1, {{request_id{id}, 2, failure::none, g.far.take(8)->region, {}}}},
              worker_of(1, 13));
    g.end_pull();
    CHECK(g.outcome_of(id).kind == outcome_kind::finished);
  }
  CHECK(g.memory.in_use() == 0);
  CHECK(g.actor.balanced());
}
