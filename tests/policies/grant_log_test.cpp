#include "policies/grant_log.hpp"

#include <doctest/doctest.h>

using namespace troupe;

namespace {

constexpr model_id a{0}, b{1}, c{2};
constexpr time_point at(int ms) { return time_point{} + std::chrono::milliseconds(ms); }
batch_window window(uint32_t rows, int exec_at, int latest) { return {rows, at(exec_at), at(latest)}; }

}  // namespace

TEST_CASE("a grant log tells what a grant chose, and which candidates stood beside it") {
  grant_log log(100);
  log.offered(at(0), a, 1, window(1, 5, 9));
  log.offered(at(1), b, 1, window(2, 5, 8));
  log.offered(at(2), b, 2, window(3, 4, 7));  // replaces the former
  log.offered(at(3), c, 1, window(4, 20, 30));
  log.granted(at(5), a, 1, slot_id{6}, at(4));
  log.offered(at(6), c, 2, window(5, 20, 30));  // later

  const auto d = log.find(a, 1);
  REQUIRE(d);
  CHECK(d->at == at(5));
  CHECK(d->slot == slot_id{6});
  CHECK(d->free_at == at(4));
  REQUIRE(d->chosen);
  CHECK(d->chosen->since == at(0));
  CHECK(d->chosen->window == window(1, 5, 9));
  REQUIRE(d->rivals.size() == 2);
  CHECK(d->rivals[0].model == b);
  CHECK(d->rivals[0].window.rows == 3);
  CHECK(d->rivals[1].model == c);
  CHECK(d->rivals[1].window.rows == 4);
  CHECK_FALSE(log.find(b, 2));
}

TEST_CASE("who was granted a slot, withdrew or was too late is no rival") {
  grant_log log(100);
  log.offered(at(0), b, 1, window(1, 5, 9));
  log.granted(at(1), b, 1, slot_id{0}, at(1));
  log.offered(at(2), c, 1, window(1, 3, 9));
  log.offered(at(3), c, 2, {});
  log.offered(at(3), model_id{3}, 1, window(1, 3, 4));
  log.offered(at(4), a, 1, window(1, 5, 9));
  log.granted(at(5), a, 1, slot_id{1}, at(5));
  const auto d = log.find(a, 1);
  REQUIRE(d);
  CHECK(d->rivals.empty());
}

TEST_CASE("a grant log forgets the oldest, and says if it no longer knows the candidate") {
  grant_log log(2);
  log.offered(at(0), a, 1, window(1, 5, 9));
  log.offered(at(1), b, 1, window(1, 5, 9));
  log.granted(at(2), a, 1, slot_id{0}, at(2));
  auto d = log.find(a, 1);
  REQUIRE(d);
  CHECK_FALSE(d->chosen);
  CHECK(d->rivals.size() == 1);
  log.offered(at(3), a, 2, {});
  log.offered(at(4), a, 3, {});
  CHECK_FALSE(log.find(a, 1));
}

TEST_CASE("a grant log tells who took a slot from whom") {
  grant_log log(100);
  log.offered(at(0), a, 1, window(2, 0, 9));
  log.granted(at(1), a, 1, slot_id{6}, at(1));
  log.offered(at(2), b, 1, window(7, 2, 9));
  log.granted(at(2), c, 1, slot_id{5}, at(2));  // another slot
  CHECK_FALSE(log.preempted_by(a, 1));
  log.granted(at(3), b, 1, slot_id{6}, at(3), true);
  log.granted(at(4), c, 2, slot_id{6}, at(9));  // waits for its turn

  const auto taker = log.preempted_by(a, 1);
  REQUIRE(taker);
  CHECK(taker->at == at(3));
  CHECK(taker->model == b);
  CHECK(taker->rows == 7);
  CHECK_FALSE(log.preempted_by(b, 1));
  CHECK(log.find(b, 1)->preempts);
  CHECK_FALSE(log.find(a, 1)->preempts);
}
