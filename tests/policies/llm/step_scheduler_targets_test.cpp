// Continuous batching by priorities and targets.
#include "tests/policies/llm/step_scheduler_stage.hpp"

using namespace troupe;
using namespace troupe::llm;

TEST_CASE("sequences begin by priority, then by turn, then first come, first served") {
  auto limits = small();
  limits.max_sequences = 1;
  step_scheduler engine(limits);
  fake_device device(limits);
  auto turned = sequence_of(1, 2, 1);
  turned.turn = time_point{5s};
  auto sooner = sequence_of(2, 2, 1);
  sooner.turn = time_point{4s};
  auto minor = sequence_of(3, 2, 1);
  minor.priority = 1, minor.turn = time_point{1s};
  auto equal = sequence_of(4, 2, 1);
  equal.turn = time_point{5s};
  for (auto* t : {&turned, &sooner, &minor, &equal}) engine.add(std::move(*t));
  std::vector<uint64_t> order;
  while (!engine.idle()) {
    const auto& step = engine.plan();
    order.push_back(step.sequences.at(0).value);
    engine.done(device.run(step));
  }
  CHECK(order == std::vector<uint64_t>{2, 1, 4, 3});
}

TEST_CASE("the sequence with the lowest priority is preempted when KV blocks run out, even the oldest") {
  auto limits = small();
  limits.blocks = 4;
  step_scheduler engine(limits);
  fake_device device(limits);
  auto minor = sequence_of(1, 4, 12), important = sequence_of(2, 4, 12);
  important.priority = -1;
  engine.add(std::move(minor));
  engine.done(device.run(engine.plan()));
  engine.add(std::move(important));
  for (int i = 0; i < 10; ++i) engine.done(device.run(engine.plan()));
  CHECK(engine.take_preempted() == std::vector{sequence_id{1}});
}

TEST_CASE("sequences that cannot have their first token in time are late, and wait on") {
  step_scheduler engine(small());
  fake_device device(small());
  const step_context context{.now = time_point{10s}, .steps = {10ms, 1ms, 1ms}};
  engine.add(sequence_of(1, 3, 20));
  engine.done(device.run(engine.plan(context)));
  engine.add(sequence_of(2, 16, 20));
  const auto due = [&](uint64_t id, uint32_t length, duration in) {
    auto s = sequence_of(id, length, 5);
    s.due = context.now + in;
    engine.add(std::move(s));
  };
  due(3, 8, 60ms);  // after 24 tokens in three steps, beside one sequence: 57 ms
  due(4, 8, 60ms);  // after 32: 76 ms
  due(5, 4, 80ms);  // after 28, as the one before is given up: 72 ms
  engine.plan(context);
  CHECK(engine.late() == std::vector{sequence_id{4}});
  CHECK(engine.waiting() == 3);
  engine.done({});
  engine.plan({.now = context.now + 1s});  // whatever steps take
  CHECK(engine.late() == std::vector{sequence_id{3}, sequence_id{4}, sequence_id{5}});
}

TEST_CASE("an idle engine starts the first waiting sequence until its due time, even if it will be late") {
  step_scheduler engine(small());
  auto s = sequence_of(1, 8, 5);
  s.due = time_point{10s};
  engine.add(std::move(s));
  CHECK(engine.plan({.now = time_point{10s}, .steps = {1s, 1s, 1s}}).rows() == 8);
  CHECK(engine.late().empty());
}

TEST_CASE("sequences run only while all keep their TPOT targets, but one always runs") {
  step_scheduler engine(small());
  fake_device device(small());
  const step_context context{.now = time_point{10s}, .steps = {10ms, 1ms, 1us}};
  const auto add = [&](uint64_t id, duration tpot) {
    auto s = sequence_of(id, 2, 8);
    s.tpot = tpot;
    engine.add(std::move(s));
  };
  add(1, 5ms);  // it never will
  add(2, 0ms);
  engine.done(device.run(engine.plan(context)));
  CHECK(engine.running() == 1);
  CHECK(engine.max_running(context) == 1);
  engine.cancel(sequence_id{1});
  add(3, 12ms);
  add(4, 0ms);
  for (int i = 0; i < 3; ++i) engine.done(device.run(engine.plan(context)));
  CHECK(engine.running() == 2);
  CHECK(engine.waiting() == 1);
  CHECK(engine.max_running(context) == 2);
}

TEST_CASE("deferred prompts wait while they can, and begin together") {
  step_scheduler engine(small(), (*prefill_timings().find("deferred"))());
  fake_device device(small());
  step_context context{.now = time_point{10s}, .steps = {10ms, 1ms, 1ms}};
  const auto add = [&](uint64_t id, duration in) {
    auto s = sequence_of(id, 2, 5);
    s.due = context.now + in;
    engine.add(std::move(s));
  };
  add(1, 112ms);
  CHECK(engine.plan(context).rows() == 0);
  CHECK(engine.begins_at() == context.now + 112ms - 12ms - 2400us);
  context.now += 50ms;
  add(2, 500ms);
  CHECK(engine.plan(context).rows() == 0);
  context.now = engine.begins_at();
  const auto& step = engine.plan(context);
  CHECK(step.sequences == std::vector{sequence_id{1}, sequence_id{2}});
  CHECK(engine.begins_at() == never);
  engine.done(device.run(step));
  add(3, 500ms);
  CHECK(engine.plan(context).sequences == std::vector{sequence_id{1}, sequence_id{2}});  // undisturbed
}
