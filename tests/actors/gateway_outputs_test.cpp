// How much of the outputs a gateway has in its memory at a time.
#include "tests/actors/gateway_stage.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

/// With room for two outputs of 8 bytes, and what is around them.
struct narrow_stage : gateway_stage {
  narrow_stage() : gateway_stage(with_room()) {}
  static gateway::options with_room() {
    auto o = options(100);
    o.max_pulled_bytes = pulled_bytes({worker_node, {1}, memory_kind::host, 0, 8, 1}) + 8;
    return o;
  }
  void run_all(uint64_t count) {
    for (uint64_t id = 1; id <= count; ++id) arrive(id);
    for (uint64_t id = 1; id <= count; ++id) complete(id);
  }
};

}  // namespace

TEST_CASE("gateway: outputs are pulled as there is room for them, in their order") {
  narrow_stage g;
  g.run_all(4);
  CHECK(g.memory.pulls.size() == 2);
  for (uint64_t id = 1; id <= 4; ++id) {
    CHECK(g.open(id));
    REQUIRE(!g.memory.pulls.empty());
    CHECK(g.memory.pulls.front().token == id);
    g.end_pull();
    CHECK(g.fate(id).kind == outcome::fate::finished);
  }
  CHECK(g.memory.pulls.empty());
  g.check_clean();
}

TEST_CASE("gateway: answers that are not written yet take room, and it looks for more by itself") {
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

TEST_CASE("gateway: one output that is larger than the room for all is pulled alone") {
  auto o = gateway_stage::options(100);
  o.max_pulled_bytes = 1;
  gateway_stage g(o);
  g.arrive(1), g.arrive(2);
  g.complete(1), g.complete(2);
  CHECK(g.memory.pulls.size() == 1);
  g.end_pull();
  CHECK(g.memory.pulls.size() == 1);
  g.end_pull();
  CHECK(g.fate(2).kind == outcome::fate::finished);
  g.check_clean();
}

TEST_CASE("gateway: what waits for room is given back if its request ends before") {
  narrow_stage g;
  g.run_all(5);
  g.tell(client_gone{request_id{4}});
  CHECK(g.fate(4).kind == outcome::fate::dropped);
  CHECK(g.out.take_addressed<release>().size() == 1);  // of 4, at once
  g.run_until(g.now + 200ms);
  for (uint64_t id : {3, 5}) CHECK(g.fate(id).error == failure::timeout);
  g.end_pull(), g.end_pull();
  CHECK(g.memory.pulls.empty());
  CHECK(g.actor.balanced());
  CHECK(g.actor.in_flight() == 0);
}
