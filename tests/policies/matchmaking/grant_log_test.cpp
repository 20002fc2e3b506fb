#include "policies/matchmaking/grant_log.hpp"

#include <doctest/doctest.h>

#include "tests/policies/common/moments.hpp"
#include "tests/policies/common/three_models.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

batch_window window(uint32_t rows, int exec_at, int latest) { return {rows, ms(exec_at), ms(latest)}; }

}  // namespace

TEST_CASE("a grant log has the chosen candidate of a grant, and the competing ones") {
  grant_log log(100);
  log.offered(ms(0), model_a, 1, window(1, 5, 9));
  log.offered(ms(1), model_b, 1, window(2, 5, 8));
  log.offered(ms(2), model_b, 2, window(3, 4, 7));  // replaces the former
  log.offered(ms(3), model_c, 1, window(4, 20, 30));
  log.granted(ms(5), model_a, 1, slot_id{6}, ms(4));
  log.offered(ms(6), model_c, 2, window(5, 20, 30));  // later

  const auto d = log.find(model_a, 1);
  REQUIRE(d);
  CHECK(d->at == ms(5));
  CHECK(d->slot == slot_id{6});
  CHECK(d->free_at == ms(4));
  REQUIRE(d->chosen);
  CHECK(d->chosen->since == ms(0));
  CHECK(d->chosen->window == window(1, 5, 9));
  REQUIRE(d->rivals.size() == 2);
  CHECK(d->rivals[0].model == model_b);
  CHECK(d->rivals[0].window.rows == 3);
  CHECK(d->rivals[1].model == model_c);
  CHECK(d->rivals[1].window.rows == 4);
  CHECK_FALSE(log.find(model_b, 2));
}

TEST_CASE("a candidate that was granted, withdrawn or late does not compete") {
  grant_log log(100);
  log.offered(ms(0), model_b, 1, window(1, 5, 9));
  log.granted(ms(1), model_b, 1, slot_id{0}, ms(1));
  log.offered(ms(2), model_c, 1, window(1, 3, 9));
  log.offered(ms(3), model_c, 2, {});
  log.offered(ms(3), model_id{3}, 1, window(1, 3, 4));
  log.offered(ms(4), model_a, 1, window(1, 5, 9));
  log.granted(ms(5), model_a, 1, slot_id{1}, ms(5));
  const auto d = log.find(model_a, 1);
  REQUIRE(d);
  CHECK(d->rivals.empty());
}

TEST_CASE("a grant log drops the oldest entries, and reports a missing candidate") {
  grant_log log(2);
  log.offered(ms(0), model_a, 1, window(1, 5, 9));
  log.offered(ms(1), model_b, 1, window(1, 5, 9));
  log.granted(ms(2), model_a, 1, slot_id{0}, ms(2));
  auto d = log.find(model_a, 1);
  REQUIRE(d);
  CHECK_FALSE(d->chosen);
  CHECK(d->rivals.size() == 1);
  log.offered(ms(3), model_a, 2, {});
  log.offered(ms(4), model_a, 3, {});
  CHECK_FALSE(log.find(model_a, 1));
}

TEST_CASE("a grant log has both models of a preemption") {
  grant_log log(100);
  log.offered(ms(0), model_a, 1, window(2, 0, 9));
  log.granted(ms(1), model_a, 1, slot_id{6}, ms(1));
  log.offered(ms(2), model_b, 1, window(7, 2, 9));
  log.granted(ms(2), model_c, 1, slot_id{5}, ms(2));  // another slot
  CHECK_FALSE(log.preempted_by(model_a, 1));
  log.granted(ms(3), model_b, 1, slot_id{6}, ms(3), true);
  log.granted(ms(4), model_c, 2, slot_id{6}, ms(9));  // waits for its turn

  const auto taker = log.preempted_by(model_a, 1);
  REQUIRE(taker);
  CHECK(taker->at == ms(3));
  CHECK(taker->model == model_b);
  CHECK(taker->rows == 7);
  CHECK_FALSE(log.preempted_by(model_b, 1));
  CHECK(log.find(model_b, 1)->preempts);
  CHECK_FALSE(log.find(model_a, 1)->preempts);
}
