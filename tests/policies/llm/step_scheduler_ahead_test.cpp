// Continuous batching a step ahead of its device.
#include "policies/llm/step_scheduler.hpp"

#include "tests/policies/llm/step_scheduler_stage.hpp"

using namespace troupe;
using namespace troupe::llm;

TEST_CASE("a step is planned during another, with references to the tokens of that one") {
  step_scheduler engine(small());
  fake_device device(small());
  engine.add(sequence_of(1, 3, 10));
  engine.add(sequence_of(2, 9, 10));
  const auto first = device.run(engine.plan());  // three tokens, and five of nine
  const auto& ahead = engine.plan();
  CHECK(engine.under_way() == 2);
  CHECK(ahead.sequences == std::vector{sequence_id{2}, sequence_id{1}});
  CHECK(ahead.tokens == std::vector<token>{205, 206, 207, 208, chosen_before(0)});
  CHECK(ahead.positions == std::vector<uint32_t>{5, 6, 7, 8, 3});
  CHECK(ahead.sampled == std::vector<uint32_t>{3, 4});
  CHECK(engine.step().sequences == std::vector{sequence_id{1}, sequence_id{2}});
  CHECK(engine.decodes_of_step() == 0);
  const auto second = device.run(ahead);
  engine.done(first);
  CHECK(engine.step().sequences == ahead.sequences);
  CHECK(engine.decodes_of_step() == 1);
  engine.add(sequence_of(3, 2, 10));
  CHECK(engine.plan().tokens == std::vector<token>{300, 301, chosen_before(1), chosen_before(0)});
  CHECK(second.size() == 2);
}

TEST_CASE("a sequence that ends with the running step has no row in the next") {
  step_scheduler engine(small());
  engine.add(sequence_of(1, 3, 1));
  engine.add(sequence_of(2, 3, 2));
  engine.plan();
  CHECK(engine.plan().sequences == std::vector{sequence_id{2}});
  engine.done({});
  CHECK(engine.plan().rows() == 0);
  CHECK(engine.under_way() == 1);
}

TEST_CASE("no step is planned ahead that cannot hold all running sequences") {
  auto limits = small();
  limits.blocks = 4;
  step_scheduler engine(limits);
  fake_device device(limits);
  SUBCASE("one would be preempted") {
    engine.add(sequence_of(1, 4, 10));
    engine.add(sequence_of(2, 4, 10));
    auto chosen = device.run(engine.plan());
    for (int i = 0; i < 4; ++i) {  // the last free blocks, until they are full
      const auto next = device.run(engine.plan());
      engine.done(chosen);
      chosen = next;
    }
    CHECK(engine.plan().rows() == 0);
    CHECK(engine.under_way() == 1);
    engine.done(chosen);
    CHECK(engine.plan().sequences == std::vector{sequence_id{1}});
    CHECK(engine.take_preempted() == std::vector{sequence_id{2}});
  }
}

TEST_CASE("blocks and adapter of a sequence stay reserved until its last step is done") {
  auto limits = small();
  limits.blocks = 3;
  step_scheduler engine(limits);
  fake_device device(limits);
  engine.adapter_loaded(adapter_id{7});
  engine.add(sequence_of(1, 4, 5, adapter_id{7}));
  auto first = device.run(engine.plan());
  const auto second = device.run(engine.plan());
  engine.add(sequence_of(2, 4, 5));
  SUBCASE("it ended with the step before") {
    first[0].last = true;
    engine.done(first);
  }
  SUBCASE("it was cancelled") {
    engine.cancel(sequence_id{1});
    engine.done(first);
  }
  CHECK(engine.running() == 0);
  CHECK(engine.blocks().available() == 1);
  CHECK(engine.users(adapter_id{7}) == 1);
  CHECK_FALSE(engine.idle());
  engine.done(second);
  CHECK(engine.tokens(sequence_id{1}) == nullptr);
  CHECK(engine.users(adapter_id{7}) == 0);
  CHECK(engine.blocks().available() == 3);
  CHECK(engine.plan().sequences == std::vector{sequence_id{2}});
}

TEST_CASE("a failed step loses the step behind it, and returns the blocks of both") {
  step_scheduler engine(small());
  fake_device device(small());
  engine.add(sequence_of(1, 3, 4));
  engine.add(sequence_of(2, 3, 4));
  auto chosen = device.run(engine.plan());
  engine.plan();
  chosen[1].last = true;
  engine.done(chosen);
  engine.plan();
  engine.add(sequence_of(3, 3, 4));
  engine.cancel(sequence_id{1});
  engine.fail();
  CHECK(engine.under_way() == 0);
  CHECK(engine.running() == 0);
  CHECK(engine.waiting() == 1);
  CHECK(engine.blocks().available() == 16);
  std::vector<token> tokens;
  for (int i = 0; i < 4; ++i) {  // in blocks that the failed steps had
    const auto& plan = engine.plan();
    CHECK(plan.sequences == std::vector{sequence_id{3}});
    const auto sampled = device.run(plan);
    engine.done(sampled);
    REQUIRE(sampled.size() == 1);
    tokens.push_back(sampled[0].chosen);
  }
  CHECK(tokens == undisturbed(sequence_of(3, 3, 4).prompt, 4, base_model));
}
