#include "actors/tensor/gateway.hpp"

#include <algorithm>
#include <set>

#include "policies/common/random.hpp"
#include "tests/actors/tensor/gateway_stage.hpp"

using namespace troupe;
using namespace troupe::test;

TEST_CASE("gateway: a request goes to its queue, its output is pulled, verified, answered and released") {
  gateway_stage g;
  g.arrive(1);
  const auto sent = g.out.take_addressed<submit>();
  REQUIRE(sent.size() == 1);
  CHECK(sent[0].first == address{scheduler_node, {}, role::model_queue, 0});
  CHECK(sent[0].second.requests.at(0).gateway == the_gateway);
  g.run_until(at(7));
  g.complete(1);
  CHECK(g.open(1));
  CHECK(g.memory.in_use() == 1);  // if the output is lost, the request needs its input again
  g.run_until(at(8));
  g.end_pull();
  CHECK(g.outcome_of(1).kind == outcome_kind::finished);
  CHECK(g.outcome_of(1).bytes == std::vector<std::byte>(8, std::byte{1}));
  CHECK(g.outcome_of(1).batch_rows == 3);
  CHECK(g.outcome_of(1).latency == 8ms);
  g.check_clean();
}

TEST_CASE("gateway: an outcome has the arrival of the request and the times of its batch") {
  gateway_stage g;
  g.run_until(at(1));
  g.arrive(1);
  const batch_times times{at(3), at(1), at(2), at(2), at(3), at(9)};
  g.deliver(completion{{1}, 1, {g.result_of(1)}, times}, worker_of(0));
  g.end_pull();
  CHECK(g.outcome_of(1).arrival == at(1));
  CHECK(g.outcome_of(1).times == times);
  g.check_clean();
}

TEST_CASE("gateway: the requests of one turn are submitted in one message") {
  gateway_stage g;
  g.note(g.ask(1));
  g.note(g.ask(2));
  g.actor.on_time(g.now);
  CHECK(g.out.one<submit>().requests.size() == 2);
}

TEST_CASE("gateway: a drop is answered with its reason, a failure with its cause") {
  gateway_stage g;
  g.arrive(1);
  g.arrive(2);
  g.drop(1, drop_reason::shed);
  g.fail(2, failure::device_error);
  CHECK(g.outcome_of(1).kind == outcome_kind::dropped);
  CHECK(g.outcome_of(1).reason == drop_reason::shed);
  CHECK(g.outcome_of(2).kind == outcome_kind::failed);
  CHECK(g.outcome_of(2).error == failure::device_error);
  CHECK(g.actor.request_ledger().total().dropped[static_cast<size_t>(drop_reason::shed)] == 1);
  g.check_clean();
}

TEST_CASE("gateway: of two outcomes the first wins, and late outputs are released unread") {
  gateway_stage g;
  g.arrive(1);
  g.drop(1, drop_reason::late);
  g.complete(1);
  CHECK(g.memory.pulls.empty());
  CHECK(g.outcome_of(1).kind == outcome_kind::dropped);
  CHECK(g.value_of("troupe_late_answers_total") == 1);

  g.arrive(2);
  g.complete(2);
  g.drop(2, drop_reason::late);  // while the output is on its way
  CHECK(g.open(2));
  g.complete(2);  // of another attempt
  g.end_pull();
  CHECK(g.outcome_of(2).kind == outcome_kind::finished);
  g.check_clean();
}

TEST_CASE("gateway: a duplicate completion does not release outputs during their pull") {
  gateway_stage g;
  g.arrive(1);
  const completion c{{1}, 1, {g.result_of(1)}};
  g.deliver(c, worker_of(0));
  g.deliver(c, worker_of(0));
  CHECK(g.out.take<release>().empty());
  CHECK(g.memory.pulls.size() == 1);
  g.end_pull();
  CHECK(g.outcome_of(1).kind == outcome_kind::finished);
  g.check_clean();
}

TEST_CASE("gateway: an output without bytes finishes its request at once") {
  gateway_stage g;
  g.arrive(1);
  g.deliver(completion{{1}, 1, {{request_id{1}, 1, failure::none, {}, {}}}}, worker_of(0));
  CHECK(g.outcome_of(1).kind == outcome_kind::finished);
  CHECK(g.outcome_of(1).bytes.empty());
  CHECK(g.memory.pulls.empty());
  CHECK(g.out.take<release>().empty());
  g.check_clean();
}

TEST_CASE("gateway: an output above the size limit is a failure, and its memory is released") {
  auto o = gateway_stage::options(100);
  o.max_output_bytes = 7;
  gateway_stage g(o);
  g.arrive(1);
  g.complete(1);
  CHECK(g.memory.pulls.empty());
  CHECK(g.outcome_of(1).kind == outcome_kind::failed);
  CHECK(g.outcome_of(1).error == failure::device_error);
  g.check_clean();
}

TEST_CASE("gateway: a request without an answer in time fails, and its input is released later") {
  gateway_stage g;
  g.arrive(1);
  g.run_until(at(61.9));
  CHECK(g.open(1));
  g.run_until(at(62));  // deadline 12 and timeout 50
  CHECK(g.outcome_of(1).error == failure::timeout);
  CHECK(g.memory.in_use() == 1);  // a worker may be reading it
  g.run_until(at(112));
  g.check_clean();
}

TEST_CASE("gateway: an answer after the timeout releases the input at once") {
  gateway_stage g;
  g.arrive(1);
  g.run_until(at(70));
  g.complete(1);
  g.check_clean();
}

TEST_CASE("gateway: the buffer of a pull outlives the timeout of its request") {
  gateway_stage g;
  g.arrive(1);
  g.complete(1);
  g.run_until(at(70));
  CHECK(g.outcome_of(1).error == failure::timeout);
  CHECK(g.out.take<release>().empty());
  g.end_pull();
  g.check_clean();
}

TEST_CASE("gateway: a disconnect cancels the request") {
  gateway_stage g;
  g.arrive(1);
  g.out.forget();
  g.deliver(client_gone{request_id{1}});
  CHECK(g.out.one<cancel>().id == request_id{1});
  CHECK(g.outcome_of(1).reason == drop_reason::cancelled);
  g.drop(1, drop_reason::cancelled);
  CHECK(g.memory.in_use() == 0);
  g.deliver(client_gone{request_id{1}});
  CHECK(g.out.silent());

  g.arrive(2);
  g.complete(2);
  g.deliver(client_gone{request_id{2}});
  g.end_pull();
  g.out.take<cancel>();
  g.check_clean();
}

TEST_CASE("gateway: after a disconnect in the turn of its request nothing is sent to the queue") {
  gateway_stage g;
  g.note(g.ask(1));
  g.note(client_gone{request_id{1}});
  g.actor.on_time(g.now);
  CHECK(g.out.silent());
  g.check_clean();
}

TEST_CASE("gateway: it refuses requests at once when it is full, draining or without a scheduler") {
  gateway_stage g(1);
  g.arrive(1);
  g.arrive(2);
  CHECK(g.outcome_of(2).reason == drop_reason::queue_full);
  g.deliver(drain{});
  g.arrive(3);
  CHECK(g.outcome_of(3).reason == drop_reason::draining);
  CHECK(g.outcome_of(3).retry_after == 7s);  // as long as the drain may take
  CHECK(g.actor.unfinished() == 1);

  gateway_stage alone;
  alone.deliver(node_leaving{scheduler_node, {10}});
  alone.arrive(1);
  CHECK(alone.outcome_of(1).reason == drop_reason::no_capacity);
  alone.check_clean();
}

TEST_CASE(
    "gateway: the death of the scheduler fails its requests, but not those that a worker has finished") {
  gateway_stage g;
  g.arrive(1);
  g.arrive(2);
  g.complete(2);
  g.deliver(node_down{scheduler_node, {10}});
  CHECK(g.outcome_of(1).error == failure::scheduler_lost);
  CHECK(g.open(2));
  g.end_pull();
  CHECK(g.outcome_of(2).kind == outcome_kind::finished);
  g.arrive(3);
  CHECK(g.outcome_of(3).reason == drop_reason::no_capacity);
  g.deliver(node_up{scheduler_node, {20}});
  g.arrive(4);
  CHECK(g.open(4));
}

TEST_CASE("gateway: every request gets one outcome and no memory leaks, for messages in any order") {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    gateway_stage g;
    random_stream random(seed, "gateway");
    std::vector<actor_message> on_the_way;  // delivered in any order, some of them twice
    uint64_t next = 1;
    uint64_t incarnation = 10;
    for (int step = 0; step < 2000; ++step) {
      g.run_until(g.now + 1ms * static_cast<int64_t>(random.below(3)));
      const auto some = [&] { return request_id{next - std::min<uint64_t>(next - 1, 1 + random.below(20))}; };
      switch (random.below(10)) {
        case 0:
        case 1:
        case 2: g.arrive(next++); break;
        case 3: on_the_way.push_back(drops{{{some(), 1, drop_reason::late}}}); break;
        case 4: on_the_way.push_back(completion{{1}, 1, {g.result_of(some().value)}}); break;
        case 5: {
          const auto why = random.below(2) == 0 ? failure::device_error : failure::stale_memory;
          on_the_way.push_back(completion{{1}, 1, {{some(), 1, why, {}, {}}}});
          break;
        }
        case 6: g.deliver(client_gone{some()}); break;
        case 7:
          if (g.memory.pulls.empty()) break;
          std::swap(g.memory.pulls[0], g.memory.pulls[random.below(g.memory.pulls.size())]);
          g.end_pull(random.below(5) == 0 ? pull_status::lost : pull_status::ok);
          break;
        case 8:
          if (random.below(20) > 0) break;
          if (random.below(2) == 0) {
            g.deliver(node_down{scheduler_node, {incarnation}});
          } else {
            g.deliver(new_incarnation{{100 + incarnation}});
          }
          g.deliver(node_up{scheduler_node, {++incarnation}});
          break;
        default:
          if (on_the_way.empty()) break;
          auto& message = on_the_way[random.below(on_the_way.size())];
          g.deliver(message, worker_of(0));
          if (random.below(4) == 0) break;  // it will come again
          message = on_the_way.back();
          on_the_way.pop_back();
      }
      REQUIRE(g.actor.balanced());
      REQUIRE(g.answers.size() + g.actor.unfinished() == next - 1);
      g.apply_releases();
    }
    for (const auto& message : on_the_way) g.deliver(message, worker_of(0));
    while (!g.memory.pulls.empty()) g.end_pull();
    g.run_until(g.now + 1s);
    g.out.take<submit>();
    CHECK(g.answers.size() == next - 1);
    g.check_clean();
  }
}

TEST_CASE("gateway: a retiring model accepts no requests, and is idle once the last one is answered") {
  gateway_stage g;
  g.arrive(1);
  g.arrive(2);
  g.deliver(model_change{{4, model_id{0}, deployment_state::retiring, {}}});
  CHECK(g.out.take<model_idle>().empty());
  g.arrive(3);
  CHECK(g.outcome_of(3).reason == drop_reason::undeployed);
  g.fail(1, failure::device_error);
  CHECK(g.out.take<model_idle>().empty());
  g.fail(2, failure::device_error);
  const auto idle = g.out.one<model_idle>();
  CHECK(idle.revision == 4);
  CHECK(g.actor.balanced());
  g.deliver(model_change{{5, model_id{0}, deployment_state::deployed, {}}});
  g.arrive(4);
  CHECK(g.answers.count(request_id{4}) == 0);
}

TEST_CASE("gateway: a model that is deployed later is served and counted like the others") {
  gateway_stage g;
  model_spec late;
  late.name = "late";
  g.deliver(model_change{{1, model_id{3}, deployment_state::deployed, late}});
  auto c = g.ask(1);
  c.asked.model = model_id{3};
  g.deliver(c);
  const auto sent = g.out.take_addressed<submit>();
  REQUIRE(sent.size() == 1);
  CHECK(sent[0].first.index == 3);
  g.fail(1, failure::device_error);
  std::vector<metric> all;
  g.actor.report(all);
  CHECK(std::ranges::any_of(all, [](const metric& m) {
    return m.name == "troupe_requests_failed_total" && m.value == 1 &&
           m.labels[0] == std::pair<std::string, std::string>{"model", "late"};
  }));
}
