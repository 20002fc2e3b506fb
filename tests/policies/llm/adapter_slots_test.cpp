#include "policies/llm/adapter_slots.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <vector>

#include "policies/common/random.hpp"
#include "policies/llm/step_scheduler.hpp"

using namespace troupe;
using namespace troupe::llm;

namespace {

using adapter_ids = std::vector<uint32_t>;
using adapter_place = adapter_slots::place;

time_point at_second(int64_t seconds) { return time_point{} + seconds * 1s; }

adapter_ids values(const std::vector<adapter_id>& from) {
  adapter_ids out;
  for (const auto a : from) out.push_back(a.value);
  return out;
}

/// Slots, and the sequences of their owner.
struct device {
  adapter_slots slots;
  std::map<uint32_t, uint32_t> users{};
  int64_t now = 0;

  adapter_slots::decision decide(const adapter_ids& wanted) {
    std::vector<adapter_id> a;
    for (const auto w : wanted) a.push_back(adapter_id{w});
    return slots.decide(
        a, [this](adapter_id x) { return users[x.value]; }, at_second(now));
  }
  /// Loads the adapters, one a second, each with a sequence.
  void fill(const adapter_ids& adapters) {
    for (const auto a : adapters) {
      REQUIRE(values(decide({a}).load) == adapter_ids{a});
      slots.loaded(adapter_id{a}, at_second(++now));
      users[a] = 1;
    }
  }
  void end(uint32_t a) {
    if (--users[a] == 0) slots.used(adapter_id{a}, at_second(++now));
  }
  adapter_place of(uint32_t a) const { return slots.of(adapter_id{a}); }
};

device with(uint32_t slots) { return {adapter_slots(slots)}; }

void check(const adapter_slots::decision& d, const adapter_ids& fence, const adapter_ids& unload,
           const adapter_ids& load) {
  CHECK(values(d.fence) == fence);
  CHECK(values(d.unload) == unload);
  CHECK(values(d.load) == load);
}

}  // namespace

TEST_CASE("adapters take free slots, the most urgent first, each once") {
  auto d = with(3);
  check(d.decide({7, 0, 5, 7, 9, 2}), {}, {}, {7, 5, 9});
  CHECK(d.slots.taken() == 3);
  CHECK(d.of(7) == adapter_place::loading);
  CHECK(d.of(2) == adapter_place::away);
  CHECK(d.of(0) == adapter_place::away);
  check(d.decide({7, 5, 9, 2}), {}, {}, {});
  d.slots.loaded(adapter_id{7}, at_second(1));
  CHECK(d.of(7) == adapter_place::ready);
}

TEST_CASE("the least recently used adapter is unloaded") {
  auto d = with(3);
  d.fill({1, 2, 3});
  for (const uint32_t a : {2, 3, 1}) d.end(a);
  check(d.decide({4}), {}, {2}, {4});
  check(d.decide({4, 5}), {}, {3}, {5});
  d.slots.used(adapter_id{1}, at_second(50));  // ended at the same time: lower id first
  for (const uint32_t a : {4, 5}) d.slots.loaded(adapter_id{a}, at_second(50));
  check(d.decide({6}), {}, {1}, {6});
}

TEST_CASE("without waiting sequences no adapter is loaded or unloaded") {
  adapter_slots slots(1);
  CHECK(slots.decide(std::vector{adapter_id{1}}, {}, at_second(0)).load.size() == 1);
  slots.loaded(adapter_id{1}, at_second(1));
  const auto d = slots.decide(std::vector{adapter_id{1}}, {}, at_second(2));
  check(d, {}, {}, {});
}

TEST_CASE("if all adapters are in use, the one loaded first is fenced, one for each waiting adapter") {
  auto d = with(4);
  d.fill({4, 3, 2, 1});
  check(d.decide({8}), {4}, {}, {});
  CHECK(d.of(4) == adapter_place::fenced);
  check(d.decide({8}), {}, {}, {});
  check(d.decide({8, 9}), {3}, {}, {});
  check(d.decide({8, 9, 10, 11, 12, 13}), {2, 1}, {}, {});
  check(d.decide({8, 9, 10, 11, 12, 13}), {}, {}, {});
}

TEST_CASE("a fenced adapter makes room when its sequences have ended, for the most urgent one then") {
  auto d = with(2);
  d.fill({1, 2});
  d.users[1] = 2;
  check(d.decide({8}), {1}, {}, {});
  d.end(1);
  check(d.decide({8}), {}, {}, {});
  d.end(1);
  check(d.decide({9, 8}), {2}, {1}, {9});
  CHECK(d.of(1) == adapter_place::away);
  CHECK(d.of(9) == adapter_place::loading);
}

TEST_CASE("a fenced adapter that is wanted again waits for its own sequences, and not twice for a slot") {
  auto d = with(2);
  d.fill({1, 2});
  check(d.decide({8}), {1}, {}, {});
  check(d.decide({8, 1}), {2}, {}, {});  // a slot for each
  check(d.decide({8, 1}), {}, {}, {});
  d.end(2);
  check(d.decide({1, 8}), {}, {2}, {8});  // 1 is more urgent, but still loaded
  d.end(1);
  check(d.decide({1}), {}, {1}, {1});
}

TEST_CASE("a fenced adapter is unloaded when its sequences have ended, even without demand for its slot") {
  auto d = with(1);
  d.fill({1});
  check(d.decide({8}), {1}, {}, {});
  d.end(1);
  check(d.decide({}), {}, {1}, {});
  CHECK(d.slots.taken() == 0);
}

TEST_CASE("a loaded adapter stays until its sequence begins, unless an older sequence needs its slot") {
  auto d = with(2);
  d.fill({1, 2});
  d.end(1);
  check(d.decide({8, 9}), {2}, {1}, {8});
  d.slots.loaded(adapter_id{8}, at_second(++d.now));
  check(d.decide({8, 9}), {}, {}, {});  // 8's sequence waits for something other than its adapter
  d.end(2);
  check(d.decide({8, 9}), {}, {2}, {9});
  d.slots.loaded(adapter_id{9}, at_second(++d.now));
  check(d.decide({8, 9, 10}), {}, {}, {});
  check(d.decide({8, 10, 9}), {}, {9}, {10});
  d.users[8] = 1;
  check(d.decide({10, 9}), {8}, {}, {});
}

TEST_CASE("of adapters without users, those that no sequence waits for go first, then those needed last") {
  auto d = with(3);
  d.fill({1, 2, 3});
  for (const uint32_t a : {1, 2, 3}) d.end(a);
  check(d.decide({8, 9, 10, 1, 2}), {}, {3, 2, 1}, {8, 9, 10});
}

TEST_CASE("an adapter with older sequences that wait is not fenced for one with newer ones") {
  auto d = with(2);
  d.fill({1, 2});
  check(d.decide({1, 8}), {2}, {}, {});
  check(d.decide({1, 8, 9}), {}, {}, {});
  check(d.decide({8, 1, 9}), {}, {}, {});  // 9 comes after 1
  check(d.decide({8, 9, 1}), {1}, {}, {});
}

TEST_CASE("an adapter that cannot be loaded leaves its slot free") {
  auto d = with(1);
  check(d.decide({1}), {}, {}, {1});
  d.slots.failed(adapter_id{1});
  CHECK(d.of(1) == adapter_place::away);
  check(d.decide({2}), {}, {}, {2});
  d.slots.failed(adapter_id{7});
  d.slots.loaded(adapter_id{7}, at_second(1));
  d.slots.used(adapter_id{7}, at_second(1));
  CHECK(d.slots.taken() == 1);
}

TEST_CASE("a retired adapter takes no sequences, and leaves when its own have ended") {
  auto d = with(2);
  d.fill({1, 2});
  d.slots.retire(adapter_id{1});
  CHECK(d.of(1) == adapter_place::fenced);
  check(d.decide({8}), {}, {}, {});  // its slot is still loading
  d.end(1);
  check(d.decide({8, 1}), {2}, {1}, {8});  // no longer requested from now on
  CHECK(d.of(1) == adapter_place::away);
  d.slots.retire(adapter_id{1});
  CHECK(d.slots.taken() == 2);
}

TEST_CASE("an adapter retired during its load is unloaded once it is loaded") {
  auto d = with(1);
  check(d.decide({1}), {}, {}, {1});
  d.slots.retire(adapter_id{1});
  CHECK(d.of(1) == adapter_place::loading);
  check(d.decide({8}), {}, {}, {});
  d.slots.loaded(adapter_id{1}, at_second(1));
  CHECK(d.of(1) == adapter_place::fenced);
  check(d.decide({8}), {}, {1}, {8});
  d.slots.retire(adapter_id{8});
  d.slots.failed(adapter_id{8});
  CHECK(d.slots.taken() == 0);
}

TEST_CASE("without slots no adapter is ever loaded") {
  auto d = with(0);
  check(d.decide({1, 2}), {}, {}, {});
  CHECK(d.slots.taken() == 0);
}

// While one sequence waits, at most 199 adapters are before its own, and each slot is reassigned every load +
// longest sequence + 2 ticks: a tick until the sequence begins, and one until its adapter is fenced.
TEST_CASE("with 200 adapters on 8 slots, one always in use, every sequence gets a slot in time") {
  constexpr uint32_t adapters = 200, slots = 8, hot = 1;
  constexpr int64_t load = 3, longest = 20, max_wait = (adapters / slots + 1) * (load + longest + 2);
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    CAPTURE(seed);
    random_stream random(seed, "adapter slots");
    adapter_slots policy(slots);
    struct sequence {
      adapter_id adapter;
      int64_t since, end;
    };
    std::deque<sequence> waiting;
    std::vector<sequence> running;
    std::multimap<int64_t, adapter_id> loading;
    std::map<adapter_id, uint32_t> served;
    int64_t longest_wait = 0, loads = 0;
    constexpr int64_t arrivals_end = 2000;
    for (int64_t tick = 0; tick < arrivals_end || !waiting.empty(); ++tick) {
      REQUIRE(tick < arrivals_end + max_wait);
      if (tick < arrivals_end) {
        waiting.push_back({adapter_id{hot}, tick, 0});
        while (random.below(2) == 0)
          waiting.push_back({adapter_id{static_cast<uint32_t>(1 + random.below(adapters))}, tick, 0});
      }
      std::erase_if(running, [&](const sequence& t) {
        if (t.end > tick) return false;
        policy.used(t.adapter, at_second(tick));
        return true;
      });
      for (auto l = loading.begin(); l != loading.end() && l->first <= tick; l = loading.erase(l))
        policy.loaded(l->second, at_second(tick));
      std::vector<adapter_id> wanted;
      for (const auto& t : waiting)
        if (std::find(wanted.begin(), wanted.end(), t.adapter) == wanted.end()) wanted.push_back(t.adapter);
      const auto users = [&](adapter_id a) {
        return static_cast<uint32_t>(
            std::count_if(running.begin(), running.end(), [&](const sequence& t) { return t.adapter == a; }));
      };
      const auto moves = policy.decide(wanted, users, at_second(tick));
      for (const auto a : moves.unload) REQUIRE(users(a) == 0);
      for (const auto a : moves.fence) REQUIRE(users(a) > 0);
      for (const auto a : moves.load) loading.emplace(tick + load, a);
      loads += static_cast<int64_t>(moves.load.size());
      REQUIRE(policy.taken() <= slots);
      std::erase_if(waiting, [&](sequence& t) {
        if (policy.of(t.adapter) != adapter_place::ready) return false;
        longest_wait = std::max(longest_wait, tick - t.since);
        t.end = tick + 1 + static_cast<int64_t>(random.below(longest));
        running.push_back(t);
        ++served[t.adapter];
        return true;
      });
    }
    CHECK(longest_wait <= max_wait);
    CHECK(longest_wait > max_wait / 3);  // slots were short
    CHECK(served.size() == adapters);
    CHECK(loads > adapters);
  }
}

// The same with the step scheduler, which decides the sequence to begin: few may run, and one prefill at a
// time.
TEST_CASE("the sequence that has waited longest begins when its adapter has come and a sequence has ended") {
  constexpr uint32_t adapters = 40, slots = 8, max_tokens = 12;
  constexpr int64_t load = 2, prefill = 3, longest = prefill + max_tokens;
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    CAPTURE(seed);
    random_stream random(seed, "adapter slots and batching");
    adapter_slots policy(slots);
    step_scheduler sequences(
        {.max_sequences = 4, .prefill_chunk = 4, .blocks = 256, .block_tokens = 4, .max_waiting = 100});
    struct sequence {
      sequence_id id;
      adapter_id adapter;
    };
    std::deque<sequence> waiting;
    std::vector<sequence> running;
    std::multimap<int64_t, adapter_id> loading;
    int64_t oldest_since = 0, longest_wait = 0, ended = 0;
    uint64_t next_id = 1;
    for (int64_t tick = 0; tick < 1000 || !sequences.idle(); ++tick) {
      REQUIRE(tick < 10'000);
      if (tick < 1000 && random.below(3) == 0) {
        const sequence t{sequence_id{next_id++}, adapter_id{static_cast<uint32_t>(random.below(adapters))}};
        new_sequence s{t.id, std::vector<token>(1 + random.below(prefill * 4), 1),
                       static_cast<uint32_t>(1 + random.below(max_tokens)), t.adapter};
        if (sequences.add(std::move(s)) == step_scheduler::refusal::none) waiting.push_back(t);
      }
      if (!waiting.empty() && random.below(20) == 0) {
        const auto victim = waiting.begin() + static_cast<std::ptrdiff_t>(random.below(waiting.size()));
        sequences.cancel(victim->id);
        if (victim == waiting.begin()) oldest_since = tick;
        waiting.erase(victim);
      }
      for (auto l = loading.begin(); l != loading.end() && l->first <= tick; l = loading.erase(l)) {
        policy.loaded(l->second, at_second(tick));
        sequences.adapter_loaded(l->second);
      }
      const auto moves = policy.decide(
          sequences.wanted_adapters(slots / 2), [&](adapter_id a) { return sequences.users(a); },
          at_second(tick));
      for (const auto& those : {moves.fence, moves.unload})
        for (const auto a : those) sequences.adapter_unloaded(a);
      for (const auto a : moves.load) loading.emplace(tick + load, a);
      const auto& step = sequences.plan();
      for (const auto id : step.sequences) {
        const auto w =
            std::find_if(waiting.begin(), waiting.end(), [&](const sequence& t) { return t.id == id; });
        if (w == waiting.end()) continue;
        if (w == waiting.begin()) {
          longest_wait = std::max(longest_wait, tick - oldest_since);
          oldest_since = tick;
        }
        running.push_back(*w);
        waiting.erase(w);
      }
      if (waiting.empty()) oldest_since = tick + 1;
      std::vector<sampled_token> chosen;
      for (const auto row : step.sampled)
        chosen.push_back({step.sequences[step.row_sequence[row]], 1, false});
      if (step.rows() > 0) sequences.done(chosen);
      std::erase_if(running, [&](const sequence& t) {
        if (sequences.tokens(t.id) != nullptr) return false;
        policy.used(t.adapter, at_second(tick));
        ++ended;
        return true;
      });
    }
    CHECK(waiting.empty());
    CHECK(running.empty());
    CHECK(ended > 150);
    CHECK(longest_wait <= 2 * (load + longest));
    CHECK(longest_wait > load);
  }
}
