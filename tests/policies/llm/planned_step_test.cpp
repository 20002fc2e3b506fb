#include "policies/llm/planned_step.hpp"

#include <doctest/doctest.h>

#include "policies/llm/scheduled_sequence.hpp"

using namespace troupe;
using namespace troupe::llm;

namespace {

constexpr adapter_id adapter_a{1}, adapter_b{2}, adapter_c{3};

/// Tokens 10 id, 10 id + 1, ..., in one block, its id.
scheduled_sequence sequence(uint32_t id, uint32_t tokens, adapter_id adapter = base_model,
                            size_t computed = 0) {
  scheduled_sequence t{sequence_id{id}, id, {}, 100, adapter, 0, {}, never, {}, {}, {{id}, {}, UINT32_MAX}};
  for (uint32_t i = 0; i < tokens; ++i) t.tokens.push_back(static_cast<token>(10 * id + i));
  t.computed = computed;
  t.in_step = static_cast<uint32_t>(tokens - computed);
  return t;
}

struct step_stage {
  void prompts(std::vector<scheduled_sequence*> some) { planned.add_prompts(some); }
  void decodes(std::vector<scheduled_sequence*> some) { planned.add_decodes(some); }
  step_stage() { planned.clear(); }

  planned_step planned;
  const llm_step& step = planned.step;
};

}  // namespace

TEST_CASE("planned step: without sequences it has no rows") {
  step_stage s;
  s.prompts({});
  s.decodes({});
  CHECK(s.step.rows() == 0);
  CHECK(s.step.block_start == std::vector<uint32_t>{0});
  CHECK(s.step.segment_end == std::vector<uint32_t>{0});
  CHECK(s.planned.decodes == 0);
}

TEST_CASE("planned step: a prompt's rows are its next tokens, and the last of it chooses") {
  step_stage s;
  auto one = sequence(1, 5);
  one.in_step = 3;
  s.prompts({&one});
  CHECK(s.step.tokens == std::vector<token>{10, 11, 12});
  CHECK(s.step.sampled.empty());
  CHECK(one.computed == 3);
  CHECK(one.awaited == 0);
  CHECK(one.in_step == 0);
  CHECK(one.steps == 1);
  s.planned.clear();
  one.in_step = 2;
  s.prompts({&one});
  CHECK(s.step.tokens == std::vector<token>{13, 14});
  CHECK(s.step.positions == std::vector<uint32_t>{3, 4});
  CHECK(s.step.sampled == std::vector<uint32_t>{1});
  CHECK(one.awaited == 1);
  CHECK(one.steps == 2);
}

TEST_CASE("planned step: a token of the step before is a reference to its position there") {
  step_stage s;
  auto one = sequence(1, 2), two = sequence(2, 2);
  s.prompts({&one, &two});
  CHECK(one.entry == 0);
  CHECK(two.entry == 1);
  s.planned.clear();
  s.decodes({&two, &one});
  CHECK(s.step.tokens == std::vector<token>{chosen_before(1), chosen_before(0)});
  CHECK(s.step.positions == std::vector<uint32_t>{2, 2});
  CHECK(two.entry == 0);
  CHECK(one.entry == 1);
  CHECK(one.awaited == 2);
}

TEST_CASE("planned step: rows know their sequences, and these their blocks") {
  step_stage s;
  auto one = sequence(1, 2), two = sequence(2, 3, base_model, 2);
  two.kv.blocks = {7, 8};
  s.prompts({&one});
  s.decodes({&two});
  CHECK(s.step.row_sequence == std::vector<uint32_t>{0, 0, 1});
  CHECK(s.step.sequences == std::vector{sequence_id{1}, sequence_id{2}});
  CHECK(s.planned.sequences == std::vector<scheduled_sequence*>{&one, &two});
  CHECK(s.step.block_start == std::vector<uint32_t>{0, 1, 3});
  CHECK(s.step.blocks == std::vector<uint32_t>{1, 7, 8});
  CHECK(s.planned.decodes == 1);
}

TEST_CASE("planned step: rows of an adapter are adjacent, and decodes begin with the last prompt's adapter") {
  step_stage s;
  auto p1 = sequence(1, 1, adapter_b), p2 = sequence(2, 1, adapter_a), p3 = sequence(3, 2, adapter_b);
  auto d1 = sequence(4, 3, adapter_a, 2), d2 = sequence(5, 3, base_model, 2),
       d3 = sequence(6, 3, adapter_b, 2), d4 = sequence(7, 3, adapter_c, 2),
       d5 = sequence(8, 3, adapter_b, 2);
  s.prompts({&p1, &p2, &p3});
  s.decodes({&d1, &d2, &d3, &d4, &d5});
  CHECK(s.planned.sequences == std::vector<scheduled_sequence*>{&p2, &p1, &p3, &d3, &d5, &d2, &d1, &d4});
  CHECK(s.step.segment_adapters == std::vector{adapter_a, adapter_b, base_model, adapter_a, adapter_c});
  CHECK(s.step.segment_end == std::vector<uint32_t>{0, 1, 6, 7, 8, 9});
  CHECK(s.planned.decodes == 5);
}

TEST_CASE("planned step: a cleared step is empty, and can be filled again") {
  step_stage s;
  auto one = sequence(1, 2, adapter_a), two = sequence(2, 2, adapter_b);
  s.prompts({&one});
  s.decodes({&one});
  s.planned.clear();
  CHECK(s.planned.decodes == 0);
  CHECK(s.planned.sequences.empty());
  s.prompts({&two});
  CHECK(s.step.segment_adapters == std::vector{adapter_b});
  CHECK(s.step.segment_end == std::vector<uint32_t>{0, 2});
  CHECK(s.step.block_start == std::vector<uint32_t>{0, 1});
}
