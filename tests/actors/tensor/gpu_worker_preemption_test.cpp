#include "tests/actors/tensor/worker_stage.hpp"

using namespace troupe;
using namespace troupe::test;

TEST_CASE("gpu_worker: a preempting order stops the running batch once its inputs have arrived") {
  worker_stage w;
  w.order(1, 0, 5, {w.ask(1), w.ask(2)});
  w.end_pull();
  w.end_pull();  // runs from 0 to 7
  w.now = at(2);
  auto large = worker_stage::order_of(2, 2, 9, {w.ask(3)});
  large.preempts = true;
  w.deliver(std::move(large), the_queue);
  w.run_until(at(3));
  CHECK(w.out.silent());  // it could not start yet
  w.end_pull();
  const auto sent = w.out.take_addressed<batch_done>();
  REQUIRE(sent.size() == 2);
  CHECK(sent[0].first == the_queue);
  CHECK(sent[1].first.kind == role::rank_arbiter);
  CHECK(sent[0].second.batch == batch_id{1});
  CHECK(sent[0].second.refused == refusal::preempted);
  CHECK(sent[0].second.started_at == at(0));
  CHECK(sent[0].second.finished_at == at(3));
  CHECK(w.out.silent());          // nothing is sent to its gateway
  CHECK(w.memory.in_use() == 1);  // of the second batch
  w.run_until(at(9));
  CHECK(w.out.take<batch_done>().front().batch == batch_id{2});
  CHECK(w.out.one<completion>().batch == batch_id{2});
  CHECK(w.value_of("troupe_worker_busy_seconds_total") == doctest::Approx(0.009));
  CHECK(w.value_of("troupe_worker_preempted_seconds_total") == doctest::Approx(0.003));
  CHECK(w.value_of("troupe_worker_batches_total") == 1);
}

TEST_CASE("gpu_worker: a preempting order that cannot run stops no batch") {
  worker_stage w;
  w.order(1, 0, 5, {w.ask(1), w.ask(2)});
  w.end_pull();
  w.end_pull();
  w.now = at(1);
  const auto preempting = [&](uint64_t batch, double start_by, std::vector<request> requests) {
    auto o = worker_stage::order_of(batch, 1, start_by, std::move(requests));
    o.preempts = true;
    return o;
  };
  CHECK(w.refused(preempting(2, 0.5, {w.ask(3)})) == refusal::late);
  auto gone = w.ask(4);
  gone.input.size = 3;  // not what the model takes
  w.deliver(preempting(3, 20, {gone}), the_queue);
  w.deliver(preempting(4, 2, {w.ask(5)}), the_queue);
  w.run_until(at(3));
  w.end_pull();  // too late to start
  CHECK(w.out.silent());
  w.run_until(at(7));
  const auto done = w.out.take<batch_done>();
  REQUIRE(done.size() == 6);
  CHECK(done[0].batch == batch_id{1});
  CHECK(done[0].refused == refusal::none);
  CHECK(done[0].finished_at == at(7));
}

TEST_CASE("gpu_worker: orders that wait before a preempting one are refused and dropped") {
  worker_stage w;
  for (uint64_t i = 1; i <= 3; ++i) {
    auto o = worker_stage::order_of(i, 0, 9, {w.ask(i)});
    o.preempts = i == 3;
    w.deliver(std::move(o), the_queue);
  }
  w.end_pull();  // the first runs; the second waits for its input, which comes into memory that must be there
  CHECK(w.memory.pulls.size() == 2);
  std::swap(w.memory.pulls[0], w.memory.pulls[1]);
  w.end_pull();
  const auto done = w.out.take<batch_done>();
  REQUIRE(done.size() == 4);
  CHECK(done[0].batch == batch_id{2});
  CHECK(done[0].refused == refusal::preempted);
  CHECK(done[2].batch == batch_id{1});
  CHECK(done[2].refused == refusal::preempted);
  w.end_pull();
  w.run_until(at(6));
  CHECK(w.out.one<completion>().batch == batch_id{3});
  CHECK(w.actor.unfinished() == 1);  // its output
}

TEST_CASE("gpu_worker: a batch that ends at the time of its preemption is done") {
  worker_stage w;
  w.order(1, 0, 5, {w.ask(1)});
  w.end_pull();  // until 6
  auto o = worker_stage::order_of(2, 6, 9, {w.ask(2)});
  o.preempts = true;
  w.note(std::move(o), the_queue);
  w.now = at(6);
  w.end_pull();
  const auto done = w.out.take<batch_done>();
  REQUIRE(done.size() == 2);
  CHECK(done[0].refused == refusal::none);
  CHECK(w.out.one<completion>().batch == batch_id{1});
  w.run_until(at(12));
  CHECK(w.out.one<completion>().batch == batch_id{2});
}
