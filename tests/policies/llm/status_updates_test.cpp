#include "policies/llm/status_updates.hpp"

#include <doctest/doctest.h>

using namespace troupe;
using namespace troupe::llm;

namespace {

engine_status status_running(uint32_t n) {
  engine_status s;
  s.running = n;
  return s;
}

}  // namespace

TEST_CASE("status updates: the first status is due at once, later ones after changes and the interval") {
  status_updates u(100ms);
  CHECK(u.is_due(time_point{0ms}));
  CHECK(u.update(status_running(0), time_point{0ms}) != nullptr);
  CHECK(u.due_at() == never);
  CHECK_FALSE(u.is_due(time_point{1000ms}));
  u.on_change();
  CHECK(u.due_at() == time_point{100ms});
  CHECK_FALSE(u.is_due(time_point{99ms}));
  CHECK(u.is_due(time_point{100ms}));
}

TEST_CASE("status updates: an unchanged status is not sent, and the interval begins anew") {
  status_updates u(100ms);
  u.update(status_running(1), time_point{0ms});
  u.on_change();
  CHECK(u.update(status_running(1), time_point{100ms}) == nullptr);
  u.on_change();
  CHECK(u.due_at() == time_point{200ms});
  const auto* news = u.update(status_running(2), time_point{200ms});
  REQUIRE(news != nullptr);
  CHECK(news->running == 2);
}

TEST_CASE("status updates: an urgent change does not wait") {
  status_updates u(100ms);
  u.update(status_running(1), time_point{0ms});
  u.on_urgent_change();
  CHECK(u.is_due(time_point{1ms}));
  CHECK(u.update(status_running(1), time_point{1ms}) == nullptr);  // it is the same after all
}

TEST_CASE("status updates: a new peer gets the status at once, even an unchanged one") {
  status_updates u(100ms);
  u.update(status_running(1), time_point{0ms});
  u.on_new_peer();
  CHECK(u.is_due(time_point{1ms}));
  CHECK(u.update(status_running(1), time_point{1ms}) != nullptr);
}
