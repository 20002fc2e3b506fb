// Requests that may have killed their worker run again alone.
#include "tests/actors/tensor/queue_stage.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

/// A worker has died with requests 1 and 2, while 3 waited. Slot 1 is of another
/// incarnation.
struct poison_retry_stage : queue_stage {
  explicit poison_retry_stage(bool crashed = true) {
    deliver(ready(1, 20));
    arrive(1);
    arrive(2);
    grant_slot(0);
    lost = out.one<batch_order>();
    arrive(3);
    out.forget();
    deliver(node_down{worker_node, {12}, crashed});
  }
  void grant_alone(uint32_t slot = 1, uint64_t incarnation = 20) {
    deliver(grant{model_id{0}, 1, slot_id{slot}, worker_of(slot, incarnation), now, true}, the_arbiter);
  }
  batch_order lost;
};

}  // namespace

TEST_CASE(
    "model_queue: requests of a dead worker run again, each alone, and its late messages change nothing") {
  poison_retry_stage q;
  CHECK(q.actor.unfinished() == 3);
  const auto told = q.out.take_addressed<suspects>();
  REQUIRE(told.size() == 1);
  CHECK(told[0].first == the_gateway);
  CHECK(told[0].second == suspects{worker_loss::worker_crashed, {request_id{1}, request_id{2}}});
  q.end(q.lost);
  CHECK(q.actor.unfinished() == 3);
  const auto asked = q.out.take<candidate>();
  CHECK(std::count_if(asked.begin(), asked.end(), [](const auto& c) { return c.alone && c.rows == 1; }) == 1);
  q.grant_slot(1, 20);  // other requests run as before
  CHECK(ids(q.out.one<batch_order>()) == std::vector<uint64_t>{3});
  for (const uint64_t id : {1, 2}) {
    q.out.forget();
    q.grant_alone();
    const auto again = q.out.one<batch_order>();
    CHECK(ids(again) == std::vector<uint64_t>{id});
    CHECK(again.requests[0].attempt == 2);
    CHECK(again.batch != q.lost.batch);
    CHECK(again.start_by == at(6));
    CHECK(q.out.one<occupied>().alone);
    q.end(again);
  }
  CHECK(q.value_of("troupe_queue_poison_retries") == 0);
  CHECK(q.value_of("troupe_queue_poisoned_total") == 0);
}

TEST_CASE("model_queue: only a request that kills a second worker alone fails as poison") {
  poison_retry_stage q;
  q.grant_alone();
  q.deliver(ready(2, 30));
  q.out.forget();
  q.deliver(node_down{worker_node, {20}, true});
  const auto said = q.out.take_addressed<completion>();
  REQUIRE(said.size() == 1);
  CHECK(said[0].first == the_gateway);
  REQUIRE(said[0].second.results.size() == 1);
  CHECK(said[0].second.results[0].id == request_id{1});
  CHECK(said[0].second.results[0].error == failure::poison);
  CHECK(q.out.take<drops>().empty());
  CHECK(q.actor.unfinished() == 2);
  q.grant_alone(2, 30);
  CHECK(ids(q.out.one<batch_order>()) == std::vector<uint64_t>{2});
  CHECK(q.value_of("troupe_queue_poisoned_total") == 1);
}

TEST_CASE("model_queue: a request that lost two workers, not both by crashes, fails as worker_lost") {
  for (const bool first : {false, true}) {
    poison_retry_stage q(first);
    q.grant_alone();
    q.deliver(ready(2, 30));
    q.out.forget();
    q.deliver(node_down{worker_node, {20}, !first});
    const auto said = q.out.one<completion>();
    CHECK(said.results.front().id == request_id{1});
    CHECK(said.results.front().error == failure::worker_lost);
    CHECK(q.value_of("troupe_queue_poisoned_total") == 0);
  }
}

TEST_CASE("model_queue: a late or cancelled poison retry is not granted") {
  SUBCASE("late") {
    poison_retry_stage q;
    q.run_until(at(6.1));
    const auto said = q.out.take<drops>();
    size_t late = 0;
    for (const auto& d : said) late += d.requests.size();
    CHECK(late == 3);
  }
  SUBCASE("cancelled") {
    poison_retry_stage q;
    q.deliver(cancel{{1}});
    CHECK(q.out.one<drops>().requests[0].reason == drop_reason::cancelled);
    q.grant_alone();
    CHECK(ids(q.out.one<batch_order>()) == std::vector<uint64_t>{2});
  }
  SUBCASE("of a dead gateway") {
    poison_retry_stage q;
    q.deliver(node_down{gateway_node, {11}});
    q.grant_alone();
    CHECK(q.out.take<batch_order>().empty());
    CHECK(q.out.one<occupied>().batch == batch_id{});
    CHECK(q.actor.unfinished() == 0);
  }
}

TEST_CASE("model_queue: a poison retry that a worker refuses is tried again") {
  poison_retry_stage q;
  q.grant_alone();
  const auto order = q.out.one<batch_order>();
  q.end(order, refusal::busy);
  q.grant_alone();
  const auto again = q.out.one<batch_order>();
  CHECK(ids(again) == std::vector<uint64_t>{1});
  CHECK(again.requests[0].attempt == 3);
}

TEST_CASE("model_queue: an ended queue drops waiting requests and poison retries, but not running ones") {
  poison_retry_stage q;
  q.deliver(ready(2, 21));
  q.arrive(4);
  q.grant_slot(2, 21);
  const auto running = ids(q.out.one<batch_order>());
  q.arrive(5);
  q.out.forget();
  q.actor.end(q.now);
  std::vector<uint64_t> given_up;
  for (const auto& d : q.out.one<drops>().requests) {
    CHECK(d.reason == drop_reason::no_capacity);
    given_up.push_back(d.id.value);
  }
  CHECK(running == std::vector<uint64_t>{3, 4});
  std::sort(given_up.begin(), given_up.end());
  CHECK(given_up == std::vector<uint64_t>{1, 2, 5});
}
