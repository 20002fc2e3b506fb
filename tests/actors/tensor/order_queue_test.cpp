#include "actors/tensor/order_queue.hpp"

#include <doctest/doctest.h>

#include "tests/actors/stage.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

/// Rows of four bytes of input and eight of output.
struct queue_of_orders {
  explicit queue_of_orders(uint64_t slots = 100) : memory(worker_node, slots) {
    up.add({the_gateway.node, the_gateway.incarnation});
  }

  request ask(uint64_t id) {
    request r;
    r.id = request_id{id};
    r.gateway = the_gateway;
    r.input = source.take(4)->region;
    return r;
  }
  batch_order order(uint64_t batch, std::vector<request> requests, bool preempts = false) {
    batch_order o;
    o.batch = batch_id{batch};
    o.start_by = at(100);
    o.requests = std::move(requests);
    o.preempts = preempts;
    return o;
  }
  bool take(batch_order o, time_point now = at(0)) { return orders.take(o, {4, 8}, up, worker_of(0), now); }
  void end_pull(time_point now = at(1), pull_status status = pull_status::ok) {
    orders.on_pulled(memory.end_pull(source, status), now);
  }
  std::vector<uint64_t> ids() const {
    std::vector<uint64_t> out;
    for (const auto& b : orders.batches()) out.push_back(b.order.batch.value);
    return out;
  }

  scripted_memory memory, source{gateway_node};
  order_queue orders{memory, 4};
  peers_up up;
};

}  // namespace

TEST_CASE("order queue: nothing is pulled from a gateway that is not up") {
  queue_of_orders q;
  q.up.clear();
  REQUIRE(q.take(q.order(1, {q.ask(1)}), at(1)));
  CHECK(q.memory.pulls.empty());
  CHECK(q.orders.front().missing == 0);
  CHECK(q.orders.front().parts[0].error == failure::stale_memory);
}

TEST_CASE("order queue: a batch is complete when the last of its inputs has arrived") {
  queue_of_orders q;
  REQUIRE(q.take(q.order(1, {q.ask(1), q.ask(2)}), at(1)));
  const auto& b = q.orders.front();
  CHECK(b.received_at == at(1));
  CHECK(b.missing == 2);
  q.end_pull(at(2));
  CHECK(b.missing == 1);
  CHECK(b.inputs_at == never);
  q.end_pull(at(3));
  CHECK(b.missing == 0);
  CHECK(b.inputs_at == at(3));
  const auto work = b.work();
  CHECK(work.rows == 2);
  REQUIRE(work.parts.size() == 2);
  CHECK(work.parts[0].input.size() == 4);
  CHECK(work.parts[0].output.size() == 8);
}

TEST_CASE("order queue: a part without a valid input is left out of the work") {
  queue_of_orders q;
  auto wrong = q.ask(3);
  wrong.rows = 2;
  REQUIRE(q.take(q.order(1, {q.ask(1), q.ask(2), wrong})));
  CHECK(q.memory.pulls.size() == 2);  // the wrong size is not pulled
  q.end_pull(at(1), pull_status::lost);
  q.end_pull();
  const auto& b = q.orders.front();
  CHECK(b.missing == 0);
  CHECK(b.rows() == 1);
  CHECK(b.work().rows == 1);
  CHECK(b.has_input());
  CHECK(b.parts[0].error == failure::stale_memory);
  CHECK(b.parts[1].error == failure::none);
  CHECK(b.parts[2].error == failure::stale_memory);
}

TEST_CASE("order queue: an order without room for its outputs is refused, and takes no memory") {
  queue_of_orders q(1);
  auto o = q.order(1, {q.ask(1), q.ask(2)});
  CHECK_FALSE(q.orders.take(o, {4, 8}, q.up, worker_of(0), at(0)));
  CHECK(o.requests.size() == 2);  // the refusal names it
  CHECK(q.memory.in_use() == 0);
  CHECK(q.memory.pulls.empty());
  CHECK(q.orders.empty());
}

TEST_CASE("order queue: rows without bytes are complete at once and take no memory") {
  queue_of_orders q;
  auto r = q.ask(1);
  r.input = {};
  auto o = q.order(1, {r});
  REQUIRE(q.orders.take(o, {0, 0}, q.up, worker_of(0), at(2)));
  CHECK(q.orders.front().inputs_at == at(2));
  CHECK(q.memory.in_use() == 0);
}

TEST_CASE("order queue: a batch that is given up keeps its buffers until its pulls have ended") {
  queue_of_orders q;
  REQUIRE(q.take(q.order(1, {q.ask(1)})));
  REQUIRE(q.take(q.order(2, {q.ask(2)})));
  q.orders.give_up_where([](const batch_order& o) { return o.batch == batch_id{1}; });
  CHECK(q.ids() == std::vector<uint64_t>{2});
  CHECK(q.memory.in_use() == 1);  // the output of the second one
  q.end_pull();                   // of the first one, into its buffer
  CHECK(q.orders.front().missing == 1);
  q.end_pull();
  CHECK(q.orders.front().missing == 0);
  q.orders.on_pulled({99, pull_status::ok}, at(1));  // of no batch
}

TEST_CASE("order queue: the running batch is never given up") {
  queue_of_orders q;
  for (uint64_t id = 1; id <= 3; ++id) REQUIRE(q.take(q.order(id, {q.ask(id)})));
  q.end_pull();
  q.orders.run().start();
  std::vector<uint64_t> asked;
  q.orders.give_up_where([&](const batch_order& o) {
    asked.push_back(o.batch.value);
    return true;
  });
  CHECK(asked == std::vector<uint64_t>{3, 2});
  CHECK(q.ids() == std::vector<uint64_t>{1});
}

TEST_CASE(
    "order queue: a preempting order that can start removes the orders before it, except the running one") {
  queue_of_orders q;
  for (uint64_t id = 1; id <= 3; ++id) REQUIRE(q.take(q.order(id, {q.ask(id)}, id == 3)));
  q.end_pull();
  q.orders.run().start();
  std::vector<uint64_t> refused;
  const auto refuse = [&](const batch_order& o) { refused.push_back(o.batch.value); };
  CHECK_FALSE(q.orders.clear_way(at(1), refuse));  // its input is not here
  q.end_pull();
  q.end_pull();
  CHECK_FALSE(q.orders.clear_way(at(101), refuse));  // too late
  CHECK(refused.empty());
  CHECK(q.orders.clear_way(at(1), refuse));
  CHECK(refused == std::vector<uint64_t>{2});
  CHECK(q.ids() == std::vector<uint64_t>{1, 3});
}

TEST_CASE("order queue: a preempting order without valid inputs preempts no batch") {
  queue_of_orders q;
  REQUIRE(q.take(q.order(1, {q.ask(1)}, true)));
  q.end_pull(at(1), pull_status::lost);
  CHECK_FALSE(q.orders.clear_way(at(1), [](const batch_order&) {}));
}

TEST_CASE("order queue: in a new incarnation the running batch is void, and nothing else is left") {
  queue_of_orders q;
  for (uint64_t id = 1; id <= 2; ++id) REQUIRE(q.take(q.order(id, {q.ask(id)})));
  q.end_pull();
  q.orders.run().start();
  q.orders.run().stop();
  CHECK(q.orders.run().stopping());
  q.orders.start_over();
  q.orders.start_over();  // twice during one batch
  CHECK(q.ids() == std::vector<uint64_t>{1});
  CHECK(q.orders.run().is_void());
  CHECK(q.orders.run().end());
  CHECK_FALSE(q.orders.run().active());
  CHECK_FALSE(q.orders.run().stopping());
  q.orders.give_up_front();
  CHECK(q.memory.in_use() == 0);
  REQUIRE(q.take(q.order(3, {q.ask(3)})));
  q.end_pull();  // of the second one
  q.end_pull();
  q.orders.run().start();
  CHECK_FALSE(q.orders.run().end());
}

TEST_CASE("order queue: its limit counts the batch that runs") {
  queue_of_orders q;
  for (uint64_t id = 1; id <= 4; ++id) {
    CHECK_FALSE(q.orders.full());
    REQUIRE(q.take(q.order(id, {q.ask(id)})));
  }
  q.orders.run().start();
  CHECK(q.orders.full());
}

TEST_CASE("order queue: outputs with shapes of their own get memory of their size when the batch has run") {
  queue_of_orders q;
  auto r = q.ask(1);
  r.input = q.source.take(12)->region;
  auto o = q.order(1, {r});
  REQUIRE(q.orders.take(o, {0, 0, true}, q.up, worker_of(0), at(0)));
  q.end_pull();
  auto& b = q.orders.front();
  CHECK(b.parts[0].error == failure::none);
  CHECK_FALSE(b.parts[0].output.region);
  const auto work = b.work();
  REQUIRE(work.parts[0].shaped_output != nullptr);
  work.parts[0].shaped_output->assign(24, std::byte{7});
  batch_outcome outcome;
  q.orders.keep_shaped_outputs(outcome);
  CHECK(outcome.errors.empty());
  CHECK(b.parts[0].output.region.size == 24);
  CHECK(b.parts[0].output.payload[23] == std::byte{7});
}

TEST_CASE("order queue: outputs that find no room fail their request") {
  queue_of_orders q(0);
  auto o = q.order(1, {q.ask(1)});
  REQUIRE(q.orders.take(o, {0, 0, true}, q.up, worker_of(0), at(0)));
  q.end_pull();
  q.orders.front().work().parts[0].shaped_output->resize(24);
  batch_outcome outcome;
  q.orders.keep_shaped_outputs(outcome);
  REQUIRE(outcome.errors.size() == 1);
  CHECK(outcome.errors[0] == "no room for 24 bytes of outputs; raise limits.pool_mb of the cluster file");
}
