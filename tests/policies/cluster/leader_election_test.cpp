#include "policies/cluster/leader_election.hpp"

#include <doctest/doctest.h>

#include "tests/policies/common/moments.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

constexpr node_id head{0}, worker{1}, first_standby{2}, second_standby{3};

/// One node of a cluster with the scheduler `head` and two standbys. Its incarnation is 7; a peer's is 10
/// plus its index.
struct watcher : leader_election {
  explicit watcher(node_id self)
      : leader_election({self, {head, first_standby, second_standby}, 4, 300ms, 3s}) {
    begin({7}, at({}));
  }
  static incarnation_id incarnation_of(node_id n) { return {10 + n.value}; }
  void meet(node_id n) { up(n, incarnation_of(n)); }
  void fall(node_id n) { down(n, incarnation_of(n)); }
  /// As if `head` had begun a term.
  void elect_head() { CHECK(learn({{100}, head, incarnation_of(head)}, at({}))); }
  /// Polls every heartbeat until `end`, while the leader sends heartbeats every `pause` until `last`.
  std::optional<leadership> watch(duration& now, duration end, duration last = 1000s, duration pause = 30ms) {
    for (; now <= end; now += beat()) {
      const auto heard = std::min(now, last);
      if (auto t = decide(at(now), at(heard - heard % pause))) return t;
    }
    return {};
  }
};

}  // namespace

TEST_CASE("leader_election: the scheduler becomes the leader once it has met all standbys") {
  watcher w(head);
  w.meet(worker);
  w.meet(first_standby);
  CHECK_FALSE(w.decide(at(1s), long_ago));
  w.meet(second_standby);
  const auto t = w.decide(at(1001ms), long_ago);
  REQUIRE(t);
  CHECK(t->scheduler == head);
  CHECK(t->incarnation == incarnation_id{7});
  CHECK(w.learn(*t, at(1001ms)));
  CHECK(w.is_leader());
  CHECK(w.takeovers() == 0);
  CHECK_FALSE(w.decide(at(2s), long_ago));
}

TEST_CASE("leader_election: the scheduler waits for an absent standby for a bounded time") {
  watcher w(head);
  w.meet(first_standby);
  CHECK_FALSE(w.decide(at(2999ms), long_ago));
  CHECK(w.decide(at(3s), long_ago));
}

TEST_CASE("leader_election: a standby lets a newly started scheduler lead first, after any wait") {
  watcher w(first_standby);
  w.meet(second_standby);
  duration now{};
  CHECK_FALSE(w.watch(now, 2s));
  w.meet(head);
  CHECK_FALSE(w.decide(at(2001ms), long_ago));
  CHECK_FALSE(w.decide(at(2300ms), long_ago));
  CHECK(w.decide(at(2301ms), long_ago));
}

TEST_CASE("leader_election: a scheduler that comes back does not depose another leader") {
  watcher w(head);
  w.meet(first_standby);
  CHECK_FALSE(w.decide(at(1ms), long_ago));
  w.learn({{102}, first_standby, watcher::incarnation_of(first_standby)}, at(1ms));
  w.meet(second_standby);
  duration now = 2ms;
  CHECK_FALSE(w.watch(now, 20s));
}

TEST_CASE("leader_election: the first standby takes over when the incarnation of the scheduler ends") {
  watcher w(first_standby);
  w.meet(head);
  w.meet(second_standby);
  w.elect_head();
  duration now{};
  CHECK_FALSE(w.watch(now, 1s));
  w.fall(head);
  const auto t = w.decide(at(now), at(now));
  REQUIRE(t);
  CHECK(t->term > term_id{100});
  CHECK(t->later_than(w.known()));
}

TEST_CASE("leader_election: the second standby waits for the first, and for it alone") {
  watcher w(second_standby);
  w.meet(head);
  w.meet(first_standby);
  w.elect_head();
  duration now{};
  CHECK_FALSE(w.watch(now, 1s));
  w.fall(head);
  const auto fell = now;
  SUBCASE("it does not come") { CHECK_FALSE(w.watch(now, fell + 299ms)); }
  SUBCASE("it does nothing") {
    CHECK(w.watch(now, fell + 350ms));
    CHECK(now - fell >= 300ms);
  }
  SUBCASE("it dies, too") {
    w.fall(first_standby);
    CHECK(w.decide(at(now), at(now)));
  }
  SUBCASE("it leaves") {
    w.leaving(first_standby, watcher::incarnation_of(first_standby));
    CHECK(w.decide(at(now), at(now)));
  }
}

TEST_CASE("leader_election: a standby takes over from a known scheduler without the other standby") {
  watcher w(first_standby);
  w.meet(head);
  w.elect_head();
  duration now{};
  CHECK_FALSE(w.watch(now, 1s));
  w.fall(head);
  CHECK(w.decide(at(now), at(now)));
}

TEST_CASE("leader_election: a scheduler that leaves hands over") {
  watcher w(first_standby);
  w.meet(head);
  w.elect_head();
  duration now{};
  CHECK_FALSE(w.watch(now, 100ms));
  w.leaving(head, watcher::incarnation_of(head));
  CHECK(w.decide(at(now), at(now)));
}

TEST_CASE("leader_election: a leaving node does not become the leader") {
  watcher w(first_standby);
  w.meet(head);
  w.elect_head();
  duration now{};
  CHECK_FALSE(w.watch(now, 100ms));
  w.drain();
  w.fall(head);
  CHECK_FALSE(w.watch(now, 20s));
}

TEST_CASE("leader_election: silence for longer than allowed counts as an end") {
  watcher w(first_standby);
  w.meet(head);
  w.elect_head();
  duration now{};
  CHECK_FALSE(w.watch(now, 5s));
  CHECK(w.allowed_silence() == 300ms);
  const auto last = now;
  REQUIRE(w.watch(now, last + 1s, last));
  CHECK(now - last > 300ms);
  CHECK(now - last < 400ms);
}

TEST_CASE("leader_election: a leader on a busy machine gets more time, until the machine is idle again") {
  watcher w(first_standby);
  w.meet(head);
  w.elect_head();
  duration now{};
  CHECK_FALSE(w.watch(now, 5s, 1000s, 240ms));
  CHECK(w.allowed_silence() == 960ms);
  const auto last = now;
  CHECK_FALSE(w.watch(now, last + 600ms, last));
  CHECK_FALSE(w.watch(now, now + 100s));
  CHECK(w.allowed_silence() == 300ms);
}

TEST_CASE("leader_election: silence for the node timeout ends the leader, even on a busy machine") {
  watcher w(first_standby);
  w.meet(head);
  w.elect_head();
  duration now{};
  for (const auto pause : {240ms, 900ms, 2700ms}) CHECK_FALSE(w.watch(now, now + 9s, 1000s, pause));
  CHECK(w.allowed_silence() == 3s);
  const auto last = now;
  CHECK(w.watch(now, last + 4s, last));
  CHECK(now - last > 3s);
}

TEST_CASE("leader_election: a standby that was frozen itself does not count its freeze as silence") {
  watcher w(first_standby);
  w.meet(head);
  w.elect_head();
  duration now{};
  CHECK_FALSE(w.watch(now, 1s));
  const auto last = now;
  now += 2s;
  CHECK_FALSE(w.watch(now, last + 2200ms, last));
  CHECK(w.watch(now, last + 2400ms, last));
}

TEST_CASE("leader_election: the higher of two terms counts, in any order of messages") {
  watcher w(head);
  CHECK(w.learn({{100}, head, {7}}, at(1s)));
  CHECK(w.is_leader());
  CHECK(w.learn({{102}, first_standby, {12}}, at(2s)));
  CHECK_FALSE(w.is_leader());
  CHECK(w.takeovers() == 1);
  CHECK_FALSE(w.learn({{100}, head, {7}}, at(3s)));
  CHECK_FALSE(w.learn({{102}, first_standby, {12}}, at(3s)));
  CHECK(w.learn({{102}, first_standby, {13}},
                at(3s)));  // the same node in a later incarnation, without its old state
  CHECK(w.known().incarnation == incarnation_id{13});
}

TEST_CASE("leader_election: two nodes that take over at once begin different terms") {
  watcher a(first_standby), b(second_standby);
  std::set<term_id> terms;
  for (auto* w : {&a, &b}) {
    w->meet(head);
    w->elect_head();
    duration now{};
    CHECK_FALSE(w->watch(now, 100ms));
    w->fall(head);
    const auto t = w->decide(at(now), at(now));
    REQUIRE(t);
    CHECK(t->term > term_id{100});
    terms.insert(t->term);
  }
  CHECK(terms.size() == 2);
}

TEST_CASE("leader_election: the next incarnation of a leader is not the leader") {
  watcher w(head);
  w.meet(first_standby);
  w.meet(second_standby);
  CHECK(w.learn(w.decide(at(1s), long_ago).value(), at(1s)));
  w.begin({8}, at(10s));
  CHECK_FALSE(w.is_leader());
  CHECK_FALSE(w.decide(at(11s), long_ago));
  w.meet(first_standby);
  w.meet(second_standby);
  const auto again = w.decide(at(11s), long_ago);
  REQUIRE(again);
  CHECK(again->later_than(w.known()));
}

TEST_CASE("leader_election: a leader stays one by a term after that of a candidate that was cut off") {
  watcher w(head);
  const leadership of_standby{{1001}, first_standby, watcher::incarnation_of(first_standby)};
  CHECK_FALSE(w.overrule(of_standby));  // it does not lead
  w.meet(first_standby);
  w.meet(second_standby);
  CHECK(w.learn(w.decide(at(1s), long_ago).value(), at(1s)));
  CHECK_FALSE(w.overrule({{1}, first_standby, watcher::incarnation_of(first_standby)}));
  const auto stays = w.overrule(of_standby);
  REQUIRE(stays);
  CHECK(stays->later_than(of_standby));
  CHECK(stays->term.value % 4 == head.value);  // never equal to another node's
  CHECK(w.learn(*stays, at(2s)));
  CHECK(w.is_leader());
}

TEST_CASE("leader_election: a node that is no candidate takes nothing") {
  watcher w(worker);
  duration now{};
  CHECK_FALSE(w.watch(now, 20s));
}

TEST_CASE("leader_election: a deposed leader deposes an unreachable new leader only after a long wait") {
  watcher w(head);
  w.meet(first_standby);
  w.meet(second_standby);
  CHECK(w.learn(w.decide(at(1s), long_ago).value(), at(1s)));
  w.fall(first_standby);
  CHECK(w.learn({{1000}, first_standby, watcher::incarnation_of(first_standby)}, at(2s)));  // from peers
  duration now = 2s;
  SUBCASE("it waits") { CHECK_FALSE(w.watch(now, 7900ms)); }
  SUBCASE("the new leader is met") {
    CHECK_FALSE(w.watch(now, 4s));
    w.meet(first_standby);
    CHECK_FALSE(w.watch(now, 20s));
  }
  SUBCASE("a later incarnation of the new leader is met") {
    CHECK_FALSE(w.watch(now, 4s));
    w.up(first_standby, {100});
    CHECK(w.watch(now, 4100ms));
  }
  SUBCASE("the wait is over") { CHECK(w.watch(now, 8100ms)); }
}

TEST_CASE("leader_election: each term that follows another soon allows twice the silence") {
  watcher w(first_standby);
  w.meet(head);
  w.elect_head();
  for (uint64_t n = 0; n < 3; ++n) {
    const auto now = 1s + n * 1s;
    CHECK(w.learn({{101 + n},
                   n % 2 == 0 ? first_standby : head,
                   n % 2 == 0 ? incarnation_id{7} : watcher::incarnation_of(head)},
                  at(now)));
  }
  CHECK(w.allowed_silence() == 2400ms);
  CHECK(w.learn({{200}, head, watcher::incarnation_of(head)}, at(60s)));
  CHECK(w.allowed_silence() == 300ms);
}

TEST_CASE("leader_election: a candidate without a link to the leader waits while a peer has one") {
  watcher w(head);
  w.meet(second_standby);
  const leadership of_first{{102}, first_standby, {12}};
  CHECK(w.learn(of_first, at(1s)));
  w.heard_of(second_standby, of_first, true);
  CHECK_FALSE(w.decide(at(100s), long_ago));
  w.heard_of(second_standby, {{101}, first_standby, {11}}, true);  // an earlier leader
  CHECK(w.decide(at(101s), long_ago));
  w.heard_of(second_standby, of_first, true);
  CHECK_FALSE(w.decide(at(102s), long_ago));
  w.heard_of(second_standby, of_first, false);
  CHECK(w.decide(at(103s), long_ago));
  w.heard_of(second_standby, of_first, true);
  w.fall(second_standby);
  CHECK(w.decide(at(104s), long_ago));
}
