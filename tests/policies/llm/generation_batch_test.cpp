#include "policies/llm/generation_batch.hpp"

#include <doctest/doctest.h>

#include "policies/llm/prefill_timing.hpp"

using namespace troupe;
using namespace troupe::llm;

namespace {

constexpr address one_gateway{node_id{1}, {11}, role::llm_gateway, 0};
constexpr address another_gateway{node_id{2}, {12}, role::llm_gateway, 0};

generation generation_of(uint64_t id, uint32_t choices = 1, uint32_t max_tokens = 3) {
  generation g;
  g.id = request_id{id};
  g.gateway = one_gateway;
  g.prompt = {5, 6};
  g.choices = choices;
  g.max_tokens = max_tokens;
  return g;
}

struct small_generation_batch : generation_batch {
  explicit small_generation_batch(uint32_t blocks = 16)
      : generation_batch({.max_sequences = 4, .prefill_chunk = 8, .blocks = blocks, .block_tokens = 4}) {
    scheduler().adapter_loaded(adapter_id{3});
  }
  /// A step in which each sequence gets this token; a negative one: there is nothing to choose from.
  std::span<const choice_token> run(token t) {
    chosen_.assign(plan().sampled.size(), {});
    for (auto& c : chosen_) c.which = t, c.valid = t >= 0;
    return done(chosen_);
  }

 private:
  std::vector<chosen_token> chosen_;
};

}  // namespace

TEST_CASE("generation batch: each choice gets its tokens, and the request ends with the last of them") {
  small_generation_batch b;
  auto g = generation_of(1, 2);
  g.attempt = 4;
  g.stop = {9};
  REQUIRE(b.add(g, adapter_id{3}));
  auto got = b.run(7);
  REQUIRE(got.size() == 2);
  for (uint32_t i = 0; i < 2; ++i) {
    CHECK(got[i].id == request_id{1});
    CHECK(got[i].gateway == one_gateway);
    CHECK(got[i].attempt == 4);
    CHECK(got[i].choice == i);
    CHECK(got[i].chosen->which == 7);
    CHECK_FALSE(got[i].last);
  }
  CHECK_FALSE(b.end_choice({1}, 0));
  got = b.run(9);
  REQUIRE(got.size() == 1);
  CHECK(got[0].choice == 1);
  CHECK(got[0].finish == finish_reason::stop);
  CHECK(got[0].last);
  CHECK(got[0].adapter == adapter_id{3});
  CHECK(b.size() == 0);
  CHECK(b.scheduler().idle());
}

TEST_CASE("generation batch: a request is refused whole if its choices cannot fit") {
  small_generation_batch b(2);  // 8 positions
  CHECK_FALSE(b.add(generation_of(1, 2, 9), base_model));
  CHECK(b.size() == 0);
  CHECK(b.scheduler().idle());
  CHECK(b.add(generation_of(1, 2, 7), base_model));
}

TEST_CASE("generation batch: a queue that is full takes back the choices that had begun") {
  generation_batch b(
      {.max_sequences = 1, .prefill_chunk = 8, .blocks = 16, .block_tokens = 4, .max_waiting = 2});
  CHECK_FALSE(b.add(generation_of(1, 3), base_model));
  CHECK(b.scheduler().waiting() == 0);
  CHECK(b.add(generation_of(1, 2), base_model));
}

TEST_CASE("generation batch: only unfinished choices of a migrated request continue, with their tokens") {
  small_generation_batch b;
  auto g = generation_of(1, 3);
  g.progress = {{2, {7, 8}}};
  CHECK(sequences_of(g) == 1);
  REQUIRE(b.add(g, base_model));
  CHECK(b.find({1})->open.size() == 1);
  const auto got = b.run(9);
  REQUIRE(got.size() == 1);
  CHECK(got[0].choice == 2);
  CHECK(got[0].finish == finish_reason::length);
  CHECK(got[0].last);
}

TEST_CASE("generation batch: each choice samples with its own seed, on any engine") {
  small_generation_batch whole, rest;
  auto g = generation_of(1, 2);
  g.sampling.seed = 40;
  REQUIRE(whole.add(g, base_model));
  whole.plan();
  REQUIRE(whole.samplings().size() == 2);
  CHECK(whole.samplings()[1].seed == 41);
  g.progress = {{1, {7}}};
  REQUIRE(rest.add(g, base_model));
  rest.plan();
  REQUIRE(rest.samplings().size() == 1);
  CHECK(rest.samplings()[0].seed == 41);
}

TEST_CASE("generation batch: a step without chosen tokens fails each request once") {
  small_generation_batch b;
  REQUIRE(b.add(generation_of(1, 2), adapter_id{3}));
  REQUIRE(b.add(generation_of(2), base_model));
  const auto got = b.run(-1);
  REQUIRE(got.size() == 2);
  for (size_t i = 0; i < 2; ++i) {
    CHECK(got[i].id == request_id{i == 0 ? 2u : 1u});  // by adapter
    CHECK(got[i].chosen == nullptr);
    CHECK(got[i].last);
  }
  CHECK(b.size() == 0);
  CHECK(b.scheduler().idle());
}

TEST_CASE("generation batch: a cancelled or unknown request ends without a token") {
  small_generation_batch b;
  REQUIRE(b.add(generation_of(1, 2), adapter_id{3}));
  b.plan();
  CHECK(b.cancel({1}) == adapter_id{3});
  CHECK_FALSE(b.cancel({1}));
  CHECK_FALSE(b.end_choice({1}, 0));
  CHECK(b.done({}).empty());
  CHECK(b.scheduler().idle());
  REQUIRE(b.add(generation_of(2, 2), base_model));
  CHECK_FALSE(b.end_choice({2}, 5));
  CHECK_FALSE(b.end_choice({2}, 1));
  CHECK_FALSE(b.end_choice({2}, 1));
  CHECK(b.end_choice({2}, 0) == base_model);
}

TEST_CASE("generation batch: a step that fails names the requests that were in it") {
  small_generation_batch b;
  for (uint64_t id : {3, 1, 2}) REQUIRE(b.add(generation_of(id), base_model));
  b.plan();
  REQUIRE(b.add(generation_of(4), base_model));
  CHECK(b.fail_steps() == std::vector{request_id{1}, request_id{2}, request_id{3}});
  CHECK(b.size() == 4);  // until they are cancelled
}

TEST_CASE("generation batch: finds requests by gateway and adapter, in the order of their ids") {
  small_generation_batch b;
  for (uint64_t id : {9, 4, 7}) {
    auto g = generation_of(id);
    if (id == 7) g.gateway = another_gateway;
    REQUIRE(b.add(g, id == 4 ? adapter_id{3} : base_model));
  }
  CHECK(b.all() == std::vector{request_id{4}, request_id{7}, request_id{9}});
  CHECK(b.of_gateway(node_id{1}, {11}) == std::vector{request_id{4}, request_id{9}});
  CHECK(b.of_gateway(node_id{1}, {10}).empty());  // an earlier incarnation
  CHECK(b.with_adapter(adapter_id{3}) == std::vector{request_id{4}});
  std::vector<node_id> nodes{node_id{2}};
  b.add_gateways(nodes);
  CHECK(nodes == std::vector{node_id{2}, node_id{1}});
}

TEST_CASE("generation batch: preempted requests are reported once all of their choices wait") {
  small_generation_batch b(4);  // 16 positions
  REQUIRE(b.add(generation_of(1, 1, 10), base_model));
  REQUIRE(b.add(generation_of(2, 1, 10), base_model));
  std::vector<request_id> told;
  for (int i = 0; i < 9; ++i) {
    b.run(7);
    for (const auto id : b.take_preempted()) told.push_back(id);
  }
  CHECK(told == std::vector{request_id{2}});
  small_generation_batch several(4);
  REQUIRE(several.add(generation_of(1, 2, 10), base_model));
  for (int i = 0; i < 9; ++i) several.run(7);
  CHECK(several.scheduler().preemptions() > 0);
  CHECK(several.take_preempted().empty());
}

TEST_CASE("generation batch: a request that cannot have its first token in time is late") {
  small_generation_batch b;
  REQUIRE(b.add(generation_of(1), base_model));
  b.run(7);  // an idle engine would try
  auto g = generation_of(2, 2);
  g.due = time_point{5ms};
  REQUIRE(b.add(g, base_model));
  b.plan({time_point{1ms}, {10ms, {}, {}}});
  CHECK(b.late() == std::vector{request_id{2}});
  b.cancel({2});
  CHECK(b.late().empty());
}
