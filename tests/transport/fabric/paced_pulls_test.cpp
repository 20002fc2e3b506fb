#include "transport/fabric/paced_pulls.hpp"

#include <doctest/doctest.h>

using namespace troupe;

namespace {

constexpr node_id paced_peer{3};
constexpr incarnation_id paced_incarnation{7};
constexpr time_point paced_now{1h};

struct one_pull {
  one_pull() { all.begun(number); }
  /// How it ended, by `t`.
  std::vector<pull_status> ended(time_point t) {
    for (auto& [done, how] : all.take(t)) done(how);
    return ends;
  }
  std::vector<pull_status> ends;
  paced_pulls all{100};
  uint64_t number = all.add(paced_peer, paced_incarnation, paced_now + 2ms,
                            [this](pull_status how) { ends.push_back(how); });
};

const std::vector<pull_status> not_ended, ended_ok{pull_status::ok}, ended_lost{pull_status::lost};

}  // namespace

TEST_CASE("a paced pull ends when it is copied and its time on both interfaces is over") {
  one_pull p;
  CHECK(p.number == 100);
  CHECK(p.all.due() == never);
  p.all.answered(p.number, paced_now + 5ms);
  CHECK(p.all.due() == never);
  CHECK(p.all.copied(p.number, pull_status::ok));
  CHECK(p.all.due() == paced_now + 5ms);
  CHECK(p.ended(paced_now + 4ms) == not_ended);
  CHECK(p.ended(paced_now + 5ms) == ended_ok);
  CHECK(p.all.due() == never);
  p.all.answered(p.number, paced_now);
  CHECK(p.ended(paced_now) == ended_ok);
}

TEST_CASE("a lost paced pull ends as soon as its copying does, whatever its time") {
  one_pull p;
  p.all.lose(paced_peer, incarnation_id{6});
  p.all.lose(node_id{4});
  p.all.copied(p.number, pull_status::ok);
  CHECK(p.ended(paced_now) == not_ended);
  p.all.lose(paced_peer, paced_incarnation);
  CHECK(p.all.due() == never);
  CHECK(p.ended(paced_now) == ended_lost);
}

TEST_CASE("a paced pull does not end within the carrier's call") {
  paced_pulls all(1);
  const auto number = all.add(paced_peer, paced_incarnation, paced_now, [](pull_status) {});
  CHECK_FALSE(all.copied(number, pull_status::lost));
  CHECK(all.take(paced_now).empty());
  CHECK(all.begun(number));
  CHECK(all.take(paced_now).size() == 1);
}
