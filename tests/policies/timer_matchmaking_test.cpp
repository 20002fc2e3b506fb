#include "policies/timer_matchmaking.hpp"

#include <doctest/doctest.h>

#include <tuple>

#include "tests/policies/moments.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

/// Matches are written (model, slot).
using pairs = std::vector<std::pair<uint32_t, uint32_t>>;

struct world {
  explicit world(std::string_view name = "lowest_id") : policy(make_matchmaking(name)) {}

  void slot(uint32_t id, time_point free_at) { policy->add_slot(slot_id{id}, free_at); }
  void want(uint32_t model, double exec_at, double latest, duration delay = {}) {
    policy->set_candidate(model_id{model}, {1, ms(exec_at), ms(latest)}, delay);
  }
  void models(uint32_t slot, std::vector<uint32_t> ids) {
    std::vector<model_id> have;
    for (const auto i : ids) have.push_back(model_id{i});
    policy->set_models(slot_id{slot}, have);
  }
  pairs poll(double now) {
    std::vector<match> out;
    policy->poll(ms(now), out);
    pairs result;
    for (const auto& m : out) result.emplace_back(m.model.value, m.slot.value);
    return result;
  }
  void busy(uint32_t model, uint32_t slot, double until) {
    policy->occupy(model_id{model}, slot_id{slot}, ms(until));
  }

  std::unique_ptr<matchmaking_policy> policy;
};

}  // namespace

TEST_CASE("a candidate gets a slot when its start has come, one delay ahead") {
  world w;
  w.slot(0, long_ago);
  CHECK(w.policy->wake_at() == never);
  w.want(0, 10, 20, 2ms);
  CHECK(w.policy->wake_at() == ms(8));
  CHECK(w.poll(7.9).empty());
  CHECK(w.poll(8) == pairs{{0, 0}});
  CHECK(w.policy->wake_at() == never);
}

TEST_CASE("lowest_id takes the lowest id that is free in time, earliest_free the longest free") {
  for (const auto& [name, chosen] : {std::pair{"lowest_id", 1u}, std::pair{"earliest_free", 2u}}) {
    world w(name);
    w.slot(0, ms(11));
    w.slot(1, ms(10));
    w.slot(2, ms(3));
    w.want(0, 10, 20, 2ms);
    CHECK(w.poll(8) == pairs{{0, chosen}});
  }
}

TEST_CASE("a slot that becomes free at the very start is free for it, and the match says when") {
  world w;
  w.slot(0, ms(10));
  w.want(0, 10, 20, 2ms);
  std::vector<match> out;
  w.policy->poll(ms(8), out);
  REQUIRE(out.size() == 1);
  CHECK(out[0].free_at == ms(10));
}

TEST_CASE("without a free slot the most urgent waits for the next, one delay ahead") {
  world w;
  w.slot(0, ms(30));
  w.slot(1, ms(20));
  w.want(0, 10, 28, 1ms);
  w.want(1, 11, 25, 2ms);
  w.want(2, 12, 29, 3ms);
  CHECK(w.poll(12).empty());
  CHECK(w.policy->wake_at() == ms(17));  // the largest delay decides
  CHECK(w.poll(17) == pairs{{1, 1}});
  w.busy(1, 1, 22);
  CHECK(w.policy->wake_at() == ms(19));
  CHECK(w.poll(19) == pairs{{0, 1}});
}

TEST_CASE("equally urgent: the lower model id") {
  world w;
  w.slot(0, ms(20));
  w.want(5, 10, 25);
  w.want(2, 11, 25);
  CHECK(w.poll(11).empty());
  CHECK(w.poll(20) == pairs{{2, 0}});
}

TEST_CASE("who can just make it gets the slot, who cannot is passed over") {
  world w;
  w.slot(0, ms(20));
  w.want(0, 10, 19.9);
  w.want(1, 10, 20);
  CHECK(w.poll(10).empty());
  CHECK(w.poll(20) == pairs{{1, 0}});
  CHECK(w.policy->wake_at() == never);  // model 0 is forgotten
}

TEST_CASE("a candidate whose inputs cannot be there in time is passed over") {
  world w;
  w.want(0, 10, 21, 5ms);
  w.want(1, 10, 30, 1ms);
  CHECK(w.poll(12).empty());
  w.slot(0, ms(18));
  CHECK(w.poll(17) == pairs{{1, 0}});  // 17 + 5 > 21

  w.want(2, 10, 20, 1ms);
  w.slot(1, long_ago);
  CHECK(w.poll(19.5).empty());  // came up too late itself
}

TEST_CASE("a new candidate replaces the old one, also while it waits, and one without rows withdraws it") {
  world w;
  w.slot(0, ms(20));
  w.want(0, 10, 25);
  CHECK(w.poll(10).empty());
  w.want(0, 30, 40);
  CHECK(w.poll(20).empty());
  CHECK(w.policy->wake_at() == ms(30));
  w.policy->set_candidate(model_id{0}, {}, 0ns);
  CHECK(w.policy->wake_at() == never);
}

TEST_CASE("until a match is answered its slot is in no other") {
  world w;
  w.slot(0, long_ago);
  w.want(0, 10, 20);
  w.want(1, 11, 20);
  CHECK(w.poll(10) == pairs{{0, 0}});
  w.policy->set_free_at(slot_id{0}, ms(10));
  CHECK(w.poll(11).empty());
  w.busy(0, 0, 13);
  CHECK(w.poll(13) == pairs{{1, 0}});
}

TEST_CASE("until a match is answered its model's candidates are remembered, but in no other") {
  world w;
  w.slot(0, long_ago);
  w.slot(1, long_ago);
  w.want(0, 10, 20);
  CHECK(w.poll(10) == pairs{{0, 0}});
  w.want(0, 11, 21);
  CHECK(w.policy->wake_at() == never);
  CHECK(w.poll(12).empty());
  w.busy(0, 0, 30);
  CHECK(w.policy->wake_at() == ms(11));
  CHECK(w.poll(12) == pairs{{0, 1}});
}

TEST_CASE("an answer that nothing ran makes the slot free at once") {
  world w;
  w.slot(0, long_ago);
  w.want(0, 10, 20);
  w.want(1, 10, 20);
  CHECK(w.poll(10) == pairs{{0, 0}});
  w.busy(0, 0, 10);
  CHECK(w.poll(10) == pairs{{1, 0}});
}

TEST_CASE("an answer that nobody asked for changes nothing") {
  world w;
  w.slot(0, ms(50));
  w.busy(0, 0, 0);
  w.busy(7, 9, 0);
  w.want(0, 10, 20);
  CHECK(w.poll(10).empty());
}

TEST_CASE("a slot that is free earlier than said serves who waits, one that is later does not") {
  world w;
  w.slot(0, ms(20));
  w.want(0, 10, 30);
  CHECK(w.poll(10).empty());
  w.policy->set_free_at(slot_id{0}, ms(25));
  CHECK(w.policy->wake_at() == ms(25));
  w.policy->set_free_at(slot_id{0}, ms(15));
  CHECK(w.poll(15) == pairs{{0, 0}});
  w.policy->set_free_at(slot_id{1000000000}, ms(0));  // an unknown one is ignored
}

TEST_CASE("a removed slot is matched no more, and the answer to its last match does not bring it back") {
  world w;
  w.slot(0, long_ago);
  w.slot(1, long_ago);
  w.want(0, 10, 20);
  CHECK(w.poll(10) == pairs{{0, 0}});
  w.policy->remove_slot(slot_id{0});
  w.policy->remove_slot(slot_id{1});
  w.want(0, 11, 20);
  w.busy(0, 0, 11);
  CHECK(w.poll(11).empty());

  SUBCASE("nor does that answer concern its successor") {
    w.slot(0, ms(12));
    CHECK(w.poll(12) == pairs{{0, 0}});
    w.slot(0, ms(13));
    w.busy(0, 0, 500);
    w.want(0, 13, 20);
    CHECK(w.poll(13) == pairs{{0, 0}});
  }
}

TEST_CASE("a removed model gives its promised slot back, and its candidate is gone") {
  world w;
  w.slot(0, long_ago);
  w.want(0, 10, 20);
  w.want(1, 11, 20);
  CHECK(w.poll(10) == pairs{{0, 0}});
  w.policy->remove_model(model_id{0}, ms(10));
  CHECK(w.poll(11) == pairs{{1, 0}});
  w.busy(1, 0, 12);
  CHECK(w.poll(20).empty());
  w.policy->remove_model(model_id{99}, ms(20));
}

TEST_CASE("several due at once are matched in the order of time, then of model id") {
  world w;
  for (uint32_t i = 0; i < 4; ++i) w.slot(i, long_ago);
  w.want(3, 10, 20);
  w.want(1, 12, 20, 1ms);
  w.want(2, 10, 20);
  w.want(0, 11, 20);
  CHECK(w.poll(15) == pairs{{2, 0}, {3, 1}, {0, 2}, {1, 3}});
}

TEST_CASE("a model gets only slots that have it, and a slot only models that it has") {
  for (const auto* name : {"lowest_id", "earliest_free"}) {
    world w(name);
    w.slot(0, long_ago);
    w.slot(1, long_ago);
    w.slot(2, long_ago);
    w.models(0, {1});
    w.models(1, {1});
    w.want(0, 10, 20);
    CHECK(w.poll(10) == pairs{{0, 2}});
    w.want(1, 10, 20);
    CHECK(w.poll(10) == pairs{{1, 0}});
  }
}

TEST_CASE("a free slot for which only models wait that it does not have wakes nobody, until that changes") {
  world w;
  w.slot(0, long_ago);
  w.models(0, {1});
  w.want(0, 10, 200);
  CHECK(w.poll(10).empty());
  CHECK(w.policy->wake_at() == never);
  w.want(1, 20, 200);
  CHECK(w.policy->wake_at() == ms(20));
  CHECK(w.poll(20) == pairs{{1, 0}});
  w.busy(1, 0, 30);
  CHECK(w.poll(30).empty());
  CHECK(w.policy->wake_at() == never);
  w.models(0, {0, 1});
  CHECK(w.poll(31) == pairs{{0, 0}});
}

TEST_CASE("a slot passes over the most urgent model if it does not have it") {
  world w;
  w.slot(0, ms(50));
  w.slot(1, ms(60));
  w.models(0, {1});
  w.want(0, 10, 100);
  w.want(1, 10, 200);
  CHECK(w.poll(10).empty());
  CHECK(w.poll(50) == pairs{{1, 0}});
  CHECK(w.poll(60) == pairs{{0, 1}});
}
