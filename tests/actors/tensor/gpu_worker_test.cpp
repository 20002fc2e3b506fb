#include "tests/actors/tensor/worker_stage.hpp"

using namespace troupe;
using namespace troupe::test;

TEST_CASE(
    "gpu_worker: it pulls the inputs, starts at once, answers the gateway, and reports to queue and "
    "arbiter") {
  worker_stage w;
  w.order(1, 3, 5, {w.ask(1), w.ask(2)});
  REQUIRE(w.memory.pulls.size() == 2);
  w.end_pull();
  w.run_until(at(1));
  w.end_pull();
  w.run_until(at(7.9));  // 1 + ℓ(2) = 8, although 3 had been planned
  CHECK(w.out.silent());
  w.run_until(at(8));
  const auto sent = w.out.take_addressed<batch_done>();
  REQUIRE(sent.size() == 2);
  CHECK(sent[0].first == the_queue);
  CHECK(sent[1].first.kind == role::rank_arbiter);
  CHECK(sent[0].second.started_at == at(1));
  CHECK(sent[0].second.finished_at == at(8));
  CHECK(sent[0].second.rows == 2);
  const auto answers = w.out.take_addressed<completion>();
  REQUIRE(answers.size() == 1);
  CHECK(answers[0].first == the_gateway);
  CHECK(answers[0].second.batch_rows == 2);
  REQUIRE(answers[0].second.results.size() == 2);
  for (const auto& r : answers[0].second.results) {
    CHECK(r.error == failure::none);
    const std::vector<std::byte> input(4, static_cast<std::byte>(r.id.value));
    std::vector<std::byte> expected(8);
    emulated_output(input, expected);
    CHECK(std::ranges::equal(w.memory.payload(r.output), expected));
  }
  CHECK(w.actor.unfinished() == 2);
  w.deliver(release{{answers[0].second.results[0].output, answers[0].second.results[1].output}}, the_gateway);
  CHECK(w.actor.unfinished() == 0);
  CHECK(w.memory.in_use() == 0);
}

TEST_CASE("gpu_worker: a completion has the times of the batch") {
  worker_stage w;
  w.now = at(1);
  w.order(1, 5, 7, {w.ask(1), w.ask(2)});
  w.end_pull();
  w.now = at(2);
  w.end_pull();
  w.run_until(at(12));
  CHECK(w.out.one<completion>().times == batch_times{at(5), at(0), at(1), at(2), at(2), at(9)});
}

TEST_CASE("gpu_worker: the inputs of the next batch are pulled while a batch runs") {
  worker_stage w;
  w.order(1, 0, 5, {w.ask(1)});
  w.end_pull();
  w.order(2, 6, 8, {w.ask(2)});
  CHECK(w.memory.pulls.size() == 1);
  w.end_pull();
  w.run_until(at(12));
  const auto answers = w.out.take<completion>();
  REQUIRE(answers.size() == 2);
  CHECK(answers[1].batch == batch_id{2});
  CHECK(w.out.take<batch_done>().back().finished_at == at(12));
}

TEST_CASE("gpu_worker: late inputs delay a batch, which is refused after its start_by") {
  worker_stage w;
  w.order(1, 3, 5, {w.ask(1)});
  w.run_until(at(4));
  w.end_pull();
  w.run_until(at(10));
  CHECK(w.out.take<batch_done>().front().started_at == at(4));
  w.out.forget();

  w.order(2, 13, 15, {w.ask(2), w.ask(3)});
  w.run_until(at(16));
  w.end_pull();
  const auto said = w.out.take<batch_done>();
  REQUIRE(said.size() == 2);
  CHECK(said[0].refused == refusal::late);
  CHECK(w.out.take<completion>().empty());
  CHECK(w.memory.in_use() == 1);  // the output of the first batch
  w.end_pull();                   // into a buffer that must still be there
  CHECK(w.out.silent());
}

TEST_CASE("gpu_worker: an input with reused memory fails alone") {
  worker_stage w;
  auto gone = w.ask(1);
  w.source.give_back(gone.input);
  w.order(1, 0, 5, {gone, w.ask(2), w.ask(3)});
  w.end_pull();
  w.end_pull(pull_status::lost);
  w.end_pull();
  w.run_until(at(6));
  const auto c = w.out.one<completion>();
  REQUIRE(c.results.size() == 3);
  CHECK(c.results[0].error == failure::stale_memory);
  CHECK(c.results[1].error == failure::stale_memory);
  CHECK(c.results[2].error == failure::none);
  CHECK(c.batch_rows == 1);
  CHECK(w.out.take<batch_done>().front().stale == std::vector{request_id{1}, request_id{2}});
  CHECK(w.memory.in_use() == 1);
}

TEST_CASE("gpu_worker: an input of the wrong size fails without being pulled, alone in its batch too") {
  worker_stage w;
  auto wrong = w.ask(1);
  wrong.rows = 2;
  w.order(1, 2, 5, {wrong});
  CHECK(w.memory.pulls.empty());
  w.run_until(at(2));
  CHECK(w.out.one<completion>().results.at(0).error == failure::stale_memory);
  CHECK(w.out.take<batch_done>().size() == 2);
  CHECK(w.memory.in_use() == 0);
  CHECK(w.actor.unfinished() == 0);
}

TEST_CASE("gpu_worker: a lost device ends the process, so that its requests run elsewhere") {
  struct : device {
    loaded_model load(model_id, const model_source&) override { return {}; }
    void unload(model_id) override {}
    void start(batch_work, time_point) override {}
    bool poll(time_point, batch_outcome& out) override {
      out.lost = reason;
      return !reason.empty();
    }
    void stop(time_point) override {}
    time_point poll_at() const override { return never; }
    std::string reason;
  } lost;
  scripted_memory memory(worker_node);
  stage<gpu_worker> w(worker_of(0), gpu_worker::options{slot_id{0}}, lost, memory);
  w.deliver(ready(0, 12, 0, 0));
  w.deliver(node_up{gateway_node, {11}});
  request r;
  r.id = request_id{1};
  r.gateway = the_gateway;
  w.deliver(worker_stage::order_of(1, 0, 5, {r}), the_queue);
  CHECK(w.actor.state() == "running");
  lost.reason = "an illegal address";
  CHECK_THROWS_WITH(w.deliver(device_ready{}), "slot 0: its device is lost: an illegal address");
  CHECK(w.out.silent());
}

TEST_CASE("gpu_worker: an order that cannot run is refused with a reason, and takes no memory") {
  worker_stage w(2);
  w.order(1, 5, 9, {w.ask(1)});
  CHECK(w.refused(worker_stage::order_of(2, 5, 9, {w.ask(2)}, 9)) == refusal::old_term);
  auto other = worker_stage::order_of(3, 5, 9, {w.ask(3)});
  other.model = model_id{1};
  CHECK(w.refused(other) == refusal::unknown_model);
  CHECK(w.refused(worker_stage::order_of(4, 5, 9, {w.ask(4), w.ask(5)})) == refusal::no_memory);
  CHECK(w.memory.in_use() == 1);
  CHECK(w.memory.pulls.size() == 1);
  w.now = at(1);
  CHECK(w.refused(worker_stage::order_of(5, 0, 0.5, {w.ask(6)})) == refusal::late);
  CHECK(w.actor.unfinished() == 1);
}

TEST_CASE("gpu_worker: more orders than a scheduler may send are refused as busy") {
  worker_stage w;
  for (uint64_t batch = 1; batch <= 4; ++batch) w.order(batch, 5, 99, {w.ask(batch)});
  CHECK(w.refused(worker_stage::order_of(5, 5, 99, {w.ask(5)})) == refusal::busy);
}

TEST_CASE("gpu_worker: an order of a higher term ends the lower one") {
  worker_stage w;
  w.deliver(worker_stage::order_of(1, 5, 9, {w.ask(1)}, 11), the_queue);
  CHECK(w.refused(worker_stage::order_of(2, 5, 9, {w.ask(2)}, 10)) == refusal::old_term);
}

TEST_CASE("gpu_worker: outputs offered to a gateway are freed when it dies") {
  worker_stage w;
  w.order(1, 0, 5, {w.ask(1), w.ask(2, second_gateway)});
  w.end_pull();
  w.end_pull();
  w.run_until(at(7));
  CHECK(w.memory.in_use() == 2);
  w.deliver(node_down{gateway_node, {10}});  // an earlier incarnation
  CHECK(w.memory.in_use() == 2);
  w.out.forget();
  w.deliver(node_down{gateway_node, {11}});
  CHECK(w.memory.in_use() == 1);
  CHECK(w.actor.unfinished() == 1);
  // its gateway may live, out of reach
  const auto undelivered = w.out.take_addressed<completion>();
  REQUIRE(undelivered.size() == 1);
  CHECK(undelivered[0].first == the_queue);
  REQUIRE(undelivered[0].second.results.size() == 1);
  CHECK(undelivered[0].second.results[0].id == request_id{1});
  CHECK(undelivered[0].second.results[0].error == failure::stale_memory);
}

TEST_CASE("gpu_worker: no output is kept for a gateway that died during its batch, or before its order") {
  worker_stage w;
  w.order(1, 0, 5, {w.ask(1)});
  w.end_pull();
  w.deliver(node_down{gateway_node, {11}});
  w.run_until(at(6));
  w.order(2, 6, 9, {w.ask(2)});  // not pulled: a pull from a dead process can succeed
  CHECK(w.memory.pulls.empty());
  w.run_until(at(12));
  CHECK(w.out.take<batch_done>().size() == 4);
  CHECK(w.memory.in_use() == 0);
  CHECK(w.actor.unfinished() == 0);
}

TEST_CASE("gpu_worker: orders of a dead scheduler do not start") {
  worker_stage w;
  w.order(1, 0, 5, {w.ask(1)});
  w.end_pull();
  w.order(2, 6, 9, {w.ask(2)});
  w.deliver(node_down{scheduler_node, {10}});
  w.end_pull();
  CHECK(w.actor.unfinished() == 1);
  w.run_until(at(20));
  CHECK(w.out.take<completion>().size() == 1);
  CHECK(w.memory.in_use() == 1);
}

TEST_CASE(
    "gpu_worker: a new incarnation lets the device finish, but neither answers nor leaks the old batches") {
  worker_stage w;
  w.order(1, 0, 5, {w.ask(1)});
  w.end_pull();
  w.order(2, 6, 9, {w.ask(2)});
  w.deliver(new_incarnation{{40}});
  w.bring_peers_up();
  CHECK(w.memory.in_use() == 1);  // the device writes there
  w.order(3, 6, 9, {w.ask(3)});
  w.end_pull();  // of batch 2: its buffer must still be there
  w.end_pull();  // of batch 3
  w.run_until(at(6));
  CHECK(w.out.silent());
  w.run_until(at(12));
  const auto c = w.out.one<completion>();
  CHECK(c.results.at(0).id == request_id{3});
  w.deliver(release{{c.results[0].output}}, the_gateway);
  CHECK(w.memory.in_use() == 0);
  CHECK(w.memory.given_back_again == 0);
  CHECK(w.actor.unfinished() == 0);
}

TEST_CASE("gpu_worker: after two new incarnations during one batch nothing is sent, and no memory leaks") {
  worker_stage w;
  w.order(1, 0, 5, {w.ask(1)});
  w.end_pull();
  w.deliver(new_incarnation{{40}});
  w.deliver(new_incarnation{{41}});
  w.run_until(at(6));
  CHECK(w.out.silent());
  CHECK(w.memory.in_use() == 0);
}

TEST_CASE("gpu_worker: inputs and outputs without bytes take no memory and are not pulled") {
  worker_stage w(0, 0, 0);
  auto r = w.ask(1);
  r.input = {};
  w.order(1, 0, 5, {r});
  CHECK(w.memory.pulls.empty());
  w.run_until(at(6));
  const auto c = w.out.one<completion>();
  CHECK(c.results.at(0).error == failure::none);
  CHECK_FALSE(c.results.at(0).output);
  CHECK(w.actor.unfinished() == 0);
}

TEST_CASE(
    "gpu_worker: an undeployed model runs to the end of its batch, is reported idle, and runs no more") {
  worker_stage w;
  w.order(1, 0, 5, {w.ask(1)});
  w.end_pull();
  w.order(2, 6, 50, {w.ask(2)});
  w.deliver(model_change{{7, model_id{0}, deployment_state::undeployed, {}}});
  const auto refused = w.out.take<batch_done>();
  REQUIRE(refused.size() == 2);
  CHECK(refused[0].batch == batch_id{2});
  CHECK(refused[0].refused == refusal::unknown_model);
  CHECK(w.out.take<model_idle>().empty());
  w.run_until(at(6));
  CHECK(w.out.take<completion>().size() == 1);
  const auto idle = w.out.one<model_idle>();
  CHECK(idle.model == model_id{0});
  CHECK(idle.revision == 7);
  CHECK(idle.who == w.actor.self());
  w.out.forget();
  CHECK(w.refused(worker_stage::order_of(3, 7, 50, {w.ask(3)})) == refusal::unknown_model);
}

TEST_CASE("gpu_worker: orders for a released model are refused, those for a loaded one run") {
  worker_stage w;
  auto s = ready(0);
  s.models.clear();
  w.deliver(s);
  CHECK(w.refused(worker_stage::order_of(1, 0, 5, {w.ask(1)})) == refusal::unknown_model);
  w.deliver(ready(0));
  w.order(2, 0, 50, {w.ask(2)});
  CHECK(w.memory.pulls.size() == 1);
}

TEST_CASE("gpu_worker: a model that is deployed again during its last batch is not reported idle after it") {
  worker_stage w;
  w.order(1, 0, 5, {w.ask(1)});
  w.end_pull();
  w.deliver(model_change{{7, model_id{0}, deployment_state::undeployed, {}}});
  w.deliver(model_change{{8, model_id{0}, deployment_state::deployed, {}}});
  w.deliver(ready(0));
  w.run_until(at(6));
  CHECK(w.out.take<model_idle>().empty());
  w.order(2, 6, 50, {w.ask(2)});
  w.end_pull();
  w.out.forget();
  w.run_until(at(12));
  CHECK(w.out.one<completion>().results.at(0).error == failure::none);
}

TEST_CASE("gpu_worker: an order for a model that the device lacks fails without an exception") {
  worker_stage w;
  w.device.unload(model_id{0});
  w.order(1, 0, 50, {w.ask(1)});
  w.end_pull();
  w.run_until(at(1));
  const auto lost = w.out.one<completion>().results.at(0);
  CHECK(lost.error == failure::device_error);
  CHECK(lost.detail == "the device has not loaded the model");
}
