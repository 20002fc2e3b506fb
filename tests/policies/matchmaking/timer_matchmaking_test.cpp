#include "policies/matchmaking/timer_matchmaking.hpp"

#include <doctest/doctest.h>

#include <tuple>

#include "policies/registry/matchmakings.hpp"
#include "tests/policies/common/moments.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

/// Matches are written (model, slot).
using pairs = std::vector<std::pair<uint32_t, uint32_t>>;

struct matchmaking_fixture {
  explicit matchmaking_fixture(std::string_view name = "lowest_id") : policy(make_matchmaking(name)) {}

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
  matchmaking_fixture f;
  f.slot(0, long_ago);
  CHECK(f.policy->wake_at() == never);
  f.want(0, 10, 20, 2ms);
  CHECK(f.policy->wake_at() == ms(8));
  CHECK(f.poll(7.9).empty());
  CHECK(f.poll(8) == pairs{{0, 0}});
  CHECK(f.policy->wake_at() == never);
}

TEST_CASE("lowest_id takes the lowest id that is free in time, earliest_free the longest free") {
  for (const auto& [name, chosen] : {std::pair{"lowest_id", 1u}, std::pair{"earliest_free", 2u}}) {
    matchmaking_fixture f(name);
    f.slot(0, ms(11));
    f.slot(1, ms(10));
    f.slot(2, ms(3));
    f.want(0, 10, 20, 2ms);
    CHECK(f.poll(8) == pairs{{0, chosen}});
  }
}

TEST_CASE("a slot that becomes free exactly at the start is matched, with that time") {
  matchmaking_fixture f;
  f.slot(0, ms(10));
  f.want(0, 10, 20, 2ms);
  std::vector<match> out;
  f.policy->poll(ms(8), out);
  REQUIRE(out.size() == 1);
  CHECK(out[0].free_at == ms(10));
}

TEST_CASE("without a free slot the most urgent waits for the next, one delay ahead") {
  matchmaking_fixture f;
  f.slot(0, ms(30));
  f.slot(1, ms(20));
  f.want(0, 10, 28, 1ms);
  f.want(1, 11, 25, 2ms);
  f.want(2, 12, 29, 3ms);
  CHECK(f.poll(12).empty());
  CHECK(f.policy->wake_at() == ms(17));  // the largest delay decides
  CHECK(f.poll(17) == pairs{{1, 1}});
  f.busy(1, 1, 22);
  CHECK(f.policy->wake_at() == ms(19));
  CHECK(f.poll(19) == pairs{{0, 1}});
}

TEST_CASE("equally urgent: the lower model id") {
  matchmaking_fixture f;
  f.slot(0, ms(20));
  f.want(5, 10, 25);
  f.want(2, 11, 25);
  CHECK(f.poll(11).empty());
  CHECK(f.poll(20) == pairs{{2, 0}});
}

TEST_CASE("a candidate that is just in time gets the slot, a late one is passed over") {
  matchmaking_fixture f;
  f.slot(0, ms(20));
  f.want(0, 10, 19.9);
  f.want(1, 10, 20);
  CHECK(f.poll(10).empty());
  CHECK(f.poll(20) == pairs{{1, 0}});
  CHECK(f.policy->wake_at() == never);  // model 0 is forgotten
}

TEST_CASE("a candidate with inputs that cannot arrive in time is passed over") {
  matchmaking_fixture f;
  f.want(0, 10, 21, 5ms);
  f.want(1, 10, 30, 1ms);
  CHECK(f.poll(12).empty());
  f.slot(0, ms(18));
  CHECK(f.poll(17) == pairs{{1, 0}});  // 17 + 5 > 21

  f.want(2, 10, 20, 1ms);
  f.slot(1, long_ago);
  CHECK(f.poll(19.5).empty());  // came up too late itself
}

TEST_CASE("a new candidate replaces the old one, also while it waits, and one without rows withdraws it") {
  matchmaking_fixture f;
  f.slot(0, ms(20));
  f.want(0, 10, 25);
  CHECK(f.poll(10).empty());
  f.want(0, 30, 40);
  CHECK(f.poll(20).empty());
  CHECK(f.policy->wake_at() == ms(30));
  f.policy->set_candidate(model_id{0}, {}, 0ns);
  CHECK(f.policy->wake_at() == never);
}

TEST_CASE("a slot with an unanswered match is in no other match") {
  matchmaking_fixture f;
  f.slot(0, long_ago);
  f.want(0, 10, 20);
  f.want(1, 11, 20);
  CHECK(f.poll(10) == pairs{{0, 0}});
  f.policy->set_free_at(slot_id{0}, ms(10));
  CHECK(f.poll(11).empty());
  f.busy(0, 0, 13);
  CHECK(f.poll(13) == pairs{{1, 0}});
}

TEST_CASE("a new candidate of a model waits until the model's match is answered") {
  matchmaking_fixture f;
  f.slot(0, long_ago);
  f.slot(1, long_ago);
  f.want(0, 10, 20);
  CHECK(f.poll(10) == pairs{{0, 0}});
  f.want(0, 11, 21);
  CHECK(f.policy->wake_at() == never);
  CHECK(f.poll(12).empty());
  f.busy(0, 0, 30);
  CHECK(f.policy->wake_at() == ms(11));
  CHECK(f.poll(12) == pairs{{0, 1}});
}

TEST_CASE("an answer that nothing ran makes the slot free at once") {
  matchmaking_fixture f;
  f.slot(0, long_ago);
  f.want(0, 10, 20);
  f.want(1, 10, 20);
  CHECK(f.poll(10) == pairs{{0, 0}});
  f.busy(0, 0, 10);
  CHECK(f.poll(10) == pairs{{1, 0}});
}

TEST_CASE("an unrequested answer changes nothing") {
  matchmaking_fixture f;
  f.slot(0, ms(50));
  f.busy(0, 0, 0);
  f.busy(7, 9, 0);
  f.want(0, 10, 20);
  CHECK(f.poll(10).empty());
}

TEST_CASE("a slot that is free earlier than planned serves a waiting candidate, a later one does not") {
  matchmaking_fixture f;
  f.slot(0, ms(20));
  f.want(0, 10, 30);
  CHECK(f.poll(10).empty());
  f.policy->set_free_at(slot_id{0}, ms(25));
  CHECK(f.policy->wake_at() == ms(25));
  f.policy->set_free_at(slot_id{0}, ms(15));
  CHECK(f.poll(15) == pairs{{0, 0}});
  f.policy->set_free_at(slot_id{1000000000}, ms(0));  // an unknown one is ignored
}

TEST_CASE("a removed slot is matched no more, and the answer to its last match does not bring it back") {
  matchmaking_fixture f;
  f.slot(0, long_ago);
  f.slot(1, long_ago);
  f.want(0, 10, 20);
  CHECK(f.poll(10) == pairs{{0, 0}});
  f.policy->remove_slot(slot_id{0});
  f.policy->remove_slot(slot_id{1});
  f.want(0, 11, 20);
  f.busy(0, 0, 11);
  CHECK(f.poll(11).empty());

  SUBCASE("nor does that answer concern its successor") {
    f.slot(0, ms(12));
    CHECK(f.poll(12) == pairs{{0, 0}});
    f.slot(0, ms(13));
    f.busy(0, 0, 500);
    f.want(0, 13, 20);
    CHECK(f.poll(13) == pairs{{0, 0}});
  }
}

TEST_CASE("a removed model gives its promised slot back, and its candidate is gone") {
  matchmaking_fixture f;
  f.slot(0, long_ago);
  f.want(0, 10, 20);
  f.want(1, 11, 20);
  CHECK(f.poll(10) == pairs{{0, 0}});
  f.policy->remove_model(model_id{0}, ms(10));
  CHECK(f.poll(11) == pairs{{1, 0}});
  f.busy(1, 0, 12);
  CHECK(f.poll(20).empty());
  f.policy->remove_model(model_id{99}, ms(20));
}

TEST_CASE("several due at once are matched in the order of time, then of model id") {
  matchmaking_fixture f;
  for (uint32_t i = 0; i < 4; ++i) f.slot(i, long_ago);
  f.want(3, 10, 20);
  f.want(1, 12, 20, 1ms);
  f.want(2, 10, 20);
  f.want(0, 11, 20);
  CHECK(f.poll(15) == pairs{{2, 0}, {3, 1}, {0, 2}, {1, 3}});
}

TEST_CASE("a model gets only slots that have it, and a slot only models that it has") {
  for (const auto* name : {"lowest_id", "earliest_free"}) {
    matchmaking_fixture f(name);
    f.slot(0, long_ago);
    f.slot(1, long_ago);
    f.slot(2, long_ago);
    f.models(0, {1});
    f.models(1, {1});
    f.want(0, 10, 20);
    CHECK(f.poll(10) == pairs{{0, 2}});
    f.want(1, 10, 20);
    CHECK(f.poll(10) == pairs{{1, 0}});
  }
}

TEST_CASE("a free slot causes no wake-up while it lacks the models of all candidates") {
  matchmaking_fixture f;
  f.slot(0, long_ago);
  f.models(0, {1});
  f.want(0, 10, 200);
  CHECK(f.poll(10).empty());
  CHECK(f.policy->wake_at() == never);
  f.want(1, 20, 200);
  CHECK(f.policy->wake_at() == ms(20));
  CHECK(f.poll(20) == pairs{{1, 0}});
  f.busy(1, 0, 30);
  CHECK(f.poll(30).empty());
  CHECK(f.policy->wake_at() == never);
  f.models(0, {0, 1});
  CHECK(f.poll(31) == pairs{{0, 0}});
}

TEST_CASE("a slot passes over the most urgent model if it does not have it") {
  matchmaking_fixture f;
  f.slot(0, ms(50));
  f.slot(1, ms(60));
  f.models(0, {1});
  f.want(0, 10, 100);
  f.want(1, 10, 200);
  CHECK(f.poll(10).empty());
  CHECK(f.poll(50) == pairs{{1, 0}});
  CHECK(f.poll(60) == pairs{{0, 1}});
}
