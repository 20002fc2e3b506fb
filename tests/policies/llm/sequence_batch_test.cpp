#include "policies/llm/sequence_batch.hpp"

#include <doctest/doctest.h>

using namespace troupe::llm;
using troupe::finish_reason;

namespace {

chosen_token chosen(token t) {
  chosen_token c;
  c.which = t;
  c.valid = true;
  return c;
}

struct small_batch : sequence_batch {
  small_batch() : sequence_batch({.max_sequences = 4, .prefill_chunk = 8, .blocks = 16, .block_tokens = 4}) {}

  sequence_id begin(sequence_request r) {
    const auto [id, refused] = add(std::move(r));
    REQUIRE(refused == refusal::none);
    return id;
  }
  /// A step in which every sequence gets this token.
  std::span<const step_token> run(token t) {
    const auto& step = plan();
    chosen_.assign(step.sampled.size(), chosen(t));
    return done(chosen_);
  }

 private:
  std::vector<chosen_token> chosen_;
};

sequence_request a_request(std::vector<token> prompt, uint32_t max_tokens) {
  sequence_request r;
  r.prompt = std::move(prompt);
  r.max_tokens = max_tokens;
  return r;
}

}  // namespace

TEST_CASE("sequence batch: a sequence ends with a stop token, which it keeps, or with its last token") {
  small_batch b;
  auto stops = a_request({1, 2}, 9);
  stops.stop = {7, 8};
  const auto first = b.begin(stops);
  auto told = b.run(5);
  REQUIRE(told.size() == 1);
  CHECK(told[0].sequence == first);
  CHECK(told[0].finish == finish_reason::none);
  told = b.run(8);
  REQUIRE(told.size() == 1);
  CHECK(told[0].chosen->which == 8);
  CHECK(told[0].finish == finish_reason::stop);
  b.begin(a_request({1}, 2));
  CHECK(b.run(5)[0].finish == finish_reason::none);
  CHECK(b.run(5)[0].finish == finish_reason::length);
  CHECK(b.scheduler().idle());
  CHECK(b.scheduler().blocks().available() == 16);
}

TEST_CASE("sequence batch: a stop token that is also the last token stops the sequence") {
  small_batch b;
  auto r = a_request({1}, 1);
  r.stop = {3};
  b.begin(r);
  CHECK(b.run(3)[0].finish == finish_reason::stop);
}

TEST_CASE("sequence batch: each token is sampled with the parameters, seed and position of its sequence") {
  small_batch b;
  auto r = a_request({1, 2, 3}, 4);
  r.sampling.seed = 77;
  r.top = 5;
  b.begin(r);
  for (uint64_t position = 3; position < 6; ++position) {
    b.plan();
    REQUIRE(b.samplings().size() == 1);
    CHECK(b.samplings()[0].position == position);
    CHECK(b.samplings()[0].seed == 77);
    CHECK(b.samplings()[0].top == 5);
    CHECK(b.samplings()[0].counts.empty());  // no counts without penalties
    (void)b.done(std::vector{chosen(4)});
  }
}

TEST_CASE("sequence batch: with penalties the tokens of prompt and output are counted apart") {
  small_batch b;
  auto r = a_request({1, 2, 1}, 4);
  r.sampling.frequency_penalty = 1;
  b.begin(r);
  (void)b.run(2);
  (void)b.run(9);
  b.plan();
  const auto counts = b.samplings()[0].counts;
  REQUIRE(counts.size() == 3);
  const auto of = [&](token t) {
    for (const auto& c : counts)
      if (c.which == t) return std::pair{c.prompt, c.output};
    return std::pair{0u, 0u};
  };
  CHECK(of(1) == std::pair{2u, 0u});
  CHECK(of(2) == std::pair{1u, 1u});
  CHECK(of(9) == std::pair{0u, 1u});
}

TEST_CASE(
    "sequence batch: a sequence cancelled during a step gives no token, and its parameters stay readable") {
  small_batch b;
  auto r = a_request({1, 2}, 4);
  r.sampling.presence_penalty = 1;
  const auto gone = b.begin(r);
  (void)b.run(5);
  const auto stays = b.begin(a_request({4}, 4));
  b.plan();
  const auto samplings = b.samplings();
  REQUIRE(samplings.size() == 2);
  b.cancel(gone);
  for (const auto& w : samplings) CHECK(w.params->top_p == 1);  // read like by the device, for the sanitizer
  const std::vector both(2, chosen(6));
  const auto told = b.done(both);
  REQUIRE(told.size() == 1);
  CHECK(told[0].sequence == stays);
}

TEST_CASE("sequence batch: a step without a chosen token ends the sequence") {
  small_batch b;
  const auto id = b.begin(a_request({1}, 4));
  b.plan();
  const std::vector<chosen_token> nothing(1);
  const auto told = b.done(nothing);
  REQUIRE(told.size() == 1);
  CHECK(told[0].sequence == id);
  CHECK(told[0].chosen == nullptr);
  CHECK(told[0].ended());
  CHECK(b.scheduler().idle());
}

TEST_CASE("sequence batch: a migrated sequence continues with the same tokens") {
  small_batch whole, rest;
  auto r = a_request({1, 2, 1}, 4);
  r.sampling.frequency_penalty = 1;
  r.sampling.seed = 5;
  whole.begin(r);
  (void)whole.run(9);
  (void)whole.run(2);
  r.generated = {9, 2};
  rest.begin(r);
  whole.plan();
  rest.plan();
  REQUIRE(rest.samplings().size() == 1);
  CHECK(rest.samplings()[0].position == whole.samplings()[0].position);
  CHECK(rest.samplings()[0].seed == whole.samplings()[0].seed);
  for (const auto& a : rest.samplings()[0].counts)
    for (const auto& b : whole.samplings()[0].counts)
      if (a.which == b.which) CHECK(std::pair{a.prompt, a.output} == std::pair{b.prompt, b.output});
  (void)rest.done(std::vector{chosen(3)});
  CHECK(rest.run(3)[0].finish == finish_reason::length);
  r.generated = {9, 2, 3, 3};
  CHECK(rest.add(r).refused == sequence_batch::refusal::empty);  // there is nothing left to generate
}

TEST_CASE("sequence batch: tokens for a sequence that the previous step ended are discarded") {
  small_batch b;
  auto r = a_request({1, 2}, 9);
  r.stop = {7};
  r.sampling.seed = 5;
  const auto stops = b.begin(r), goes_on = b.begin(a_request({3}, 9));
  b.plan();
  b.plan();
  REQUIRE(b.samplings().size() == 2);
  CHECK(b.samplings()[0].position == 3);
  CHECK(b.samplings()[0].seed == 5);
  auto told = b.done(std::vector{chosen(7), chosen(7)});
  REQUIRE(told.size() == 2);
  CHECK(told[0].sequence == stops);
  CHECK(told[0].finish == finish_reason::stop);
  b.cancel(stops);                                    // it is unknown by now
  const std::vector second = {chosen(1), chosen(2)};  // the results point into it
  told = b.done(second);
  REQUIRE(told.size() == 1);
  CHECK(told[0].sequence == goes_on);
  CHECK(told[0].chosen->which == 2);
}

TEST_CASE("sequence batch: penalties of a step begun ahead leave out the pending token") {
  small_batch b;
  auto r = a_request({1, 2}, 9);
  r.sampling.presence_penalty = 1;
  b.begin(r), b.begin(a_request({3}, 9)), b.begin(r);
  const auto counted = [&](size_t sequence) {
    uint32_t sum = 0;
    for (const auto& c : b.samplings()[sequence].counts) sum += c.prompt + c.output;
    return sum;
  };
  const std::vector all(3, chosen(7));
  b.plan();
  const auto running = b.samplings();
  for (uint32_t known = 2; known < 8; ++known) {
    const auto& step = b.plan();
    CHECK(is_chosen_before(step.tokens[step.sampled[2]]));
    CHECK(counted(0) == known);
    CHECK(counted(1) == 0);
    CHECK(counted(2) == known);
    const auto ahead = b.samplings();
    (void)b.done(all);
    CHECK(ahead[0].counts.size() == (known == 2 ? 2 : 3));  // unchanged for a device that still reads it
    CHECK(counted(2) == known);
  }
  CHECK(running.size() == 3);
}

TEST_CASE("sequence batch: sequences of lost steps are scheduled again and get all of their tokens") {
  small_batch b;
  b.begin(a_request({1, 2}, 3));
  b.plan();
  b.plan();
  b.fail_steps();
  CHECK(b.run(5).size() == 1);
  CHECK(b.run(5).size() == 1);
  CHECK(b.run(5)[0].finish == finish_reason::length);
  CHECK(b.scheduler().idle());
}
