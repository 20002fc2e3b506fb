#include "policies/llm/adapter_changes.hpp"

#include <doctest/doctest.h>

using namespace troupe;

namespace {

constexpr engine_id engine_a{0}, engine_b{1}, engine_c{2};

change_adapter loading(uint64_t token) { return {token, {}, true, {"x", "/x"}}; }
change_adapter unloading(uint64_t token) { return {token, {}, false, {"x", ""}}; }
adapter_changed done_with(uint64_t token) { return {token, adapter_answer::done, {}}; }
adapter_changed refusing(uint64_t token, const char* why) { return {token, adapter_answer::refused, why}; }

}  // namespace

TEST_CASE("adapter changes: the last engine's answer settles a change that all engines made") {
  adapter_changes all;
  all.begin(loading(5), {engine_a, engine_b});
  CHECK_FALSE(all.on_answer(engine_a, done_with(5)));
  CHECK_FALSE(all.on_answer(engine_a, done_with(5)));  // repeated
  CHECK_FALSE(all.on_answer(engine_c, done_with(5)));  // not asked
  CHECK_FALSE(all.on_answer(engine_b, done_with(6)));  // of another change
  const auto s = all.on_answer(engine_b, done_with(5));
  REQUIRE(s);
  CHECK(s->answer == done_with(5));
  CHECK(s->undo_at.empty());
  CHECK(all.empty());
}

TEST_CASE("adapter changes: an adapter that one engine refused is taken from the others") {
  adapter_changes all;
  all.begin(loading(5), {engine_a, engine_b, engine_c});
  CHECK_FALSE(all.on_answer(engine_b, done_with(5)));
  CHECK_FALSE(all.on_answer(engine_c, refusing(5, "first")));
  const auto s = all.on_answer(engine_a, refusing(5, "second"));
  REQUIRE(s);
  CHECK(s->answer == refusing(5, "first"));
  CHECK(s->undo_at == std::vector{engine_b});
  CHECK(s->undo == change_adapter{5, {}, false, {"x", "/x"}});
}

TEST_CASE("adapter changes: a refusal by all engines leaves nothing to undo") {
  adapter_changes all;
  all.begin(loading(5), {engine_a});
  const auto s = all.on_answer(engine_a, refusing(5, "why"));
  REQUIRE(s);
  CHECK(s->answer == refusing(5, "why"));
  CHECK(s->undo_at.empty());
}

TEST_CASE("adapter changes: an adapter is unloaded if any engine had it") {
  adapter_changes all;
  all.begin(unloading(5), {engine_a, engine_b});
  CHECK_FALSE(all.on_answer(engine_a, {5, adapter_answer::unknown, {}}));
  auto s = all.on_answer(engine_b, done_with(5));
  REQUIRE(s);
  CHECK(s->answer == done_with(5));
  CHECK(s->undo_at.empty());
  all.begin(unloading(6), {engine_a});
  s = all.on_answer(engine_a, {6, adapter_answer::unknown, {}});
  CHECK(s->answer.answer == adapter_answer::unknown);
}

TEST_CASE("adapter changes: a lost engine counts as refusing all of its changes") {
  adapter_changes all;
  all.begin(loading(7), {engine_a});
  all.begin(loading(6), {engine_a, engine_b});
  all.begin(loading(5), {engine_a, engine_b});
  all.begin(loading(8), {engine_b});
  CHECK_FALSE(all.on_answer(engine_b, done_with(5)));
  const auto lost = all.lose(engine_a);
  REQUIRE(lost.size() == 2);
  CHECK(lost[0].answer == refusing(5, "the engine is no longer available"));
  CHECK(lost[0].undo_at == std::vector{engine_b});
  CHECK(lost[1].answer == refusing(7, "the engine is no longer available"));
  const auto s = all.on_answer(engine_b, done_with(6));
  REQUIRE(s);
  CHECK(s->answer.answer == adapter_answer::refused);
  CHECK(s->undo_at == std::vector{engine_b});
  CHECK(all.lose(engine_a).empty());
  CHECK_FALSE(all.empty());  // 8
}

TEST_CASE("adapter changes: an adapter that is being unloaded is known by model and name") {
  adapter_changes all;
  all.begin(unloading(5), {engine_a});
  CHECK(all.unloads({}, "x"));
  CHECK_FALSE(all.unloads({}, "y"));
  CHECK_FALSE(all.unloads(llm_id{1}, "x"));
  all.on_answer(engine_a, done_with(5));
  CHECK_FALSE(all.unloads({}, "x"));
  all.begin(loading(6), {engine_a});
  CHECK_FALSE(all.unloads({}, "x"));
}
