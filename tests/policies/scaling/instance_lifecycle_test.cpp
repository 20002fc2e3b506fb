#include "policies/scaling/instance_lifecycle.hpp"

#include <doctest/doctest.h>

#include "policies/common/random.hpp"

using namespace troupe;

namespace {

using action = instance_lifecycle::action;
using enum instance_stage;

instance_lifecycle serving_instance() {
  instance_lifecycle i(true);
  i.order(serving);
  i.advance(true);
  i.on_loaded();
  return i;
}

}  // namespace

TEST_CASE("instance lifecycle: an engine of a model that does not scale loads at once, and stays") {
  instance_lifecycle i(false);
  CHECK(i.stage() == loading);
  CHECK(i.advance(true) == action::none);
  i.on_loaded();
  CHECK(i.stage() == serving);
  CHECK(i.advance(true) == action::none);
  CHECK(i.stage() == serving);
}

TEST_CASE("instance lifecycle: an idle engine loads when it shall serve, and drains before it parks") {
  instance_lifecycle i(true);
  CHECK(i.stage() == idle);
  CHECK(i.advance(true) == action::none);
  i.order(serving);
  CHECK(i.stage() == idle);
  CHECK(i.advance(true) == action::load);
  CHECK(i.stage() == loading);
  CHECK(i.advance(true) == action::none);
  i.on_loaded();
  CHECK(i.stage() == serving);
  i.order(parked);
  CHECK(i.advance(false) == action::none);
  CHECK(i.stage() == draining);
  CHECK(i.advance(false) == action::none);
  CHECK(i.stage() == draining);
  CHECK(i.advance(true) == action::none);
  CHECK(i.stage() == parked);
  i.order(idle);
  CHECK(i.advance(true) == action::unload);
  CHECK(i.stage() == idle);
}

TEST_CASE("instance lifecycle: a draining or parked engine serves again at once") {
  auto i = serving_instance();
  i.order(parked);
  for (const bool empty : {false, true}) {
    i.advance(empty);
    CHECK(i.stage() == (empty ? parked : draining));
    i.order(serving);
    CHECK(i.advance(empty) == action::none);
    CHECK(i.stage() == serving);
    i.order(parked);
  }
}

TEST_CASE("instance lifecycle: a loading engine stops when it shall park or be idle") {
  for (const auto to : {parked, idle}) {
    instance_lifecycle i(true);
    i.order(serving);
    i.advance(true);
    i.order(to);
    CHECK(i.advance(true) == action::unload);
    CHECK(i.stage() == idle);
    i.on_loaded();  // too late
    CHECK(i.stage() == idle);
  }
}

TEST_CASE("instance lifecycle: a serving engine that shall be idle drains first, then unloads in one step") {
  auto i = serving_instance();
  i.order(idle);
  CHECK(i.advance(false) == action::none);
  CHECK(i.stage() == draining);
  CHECK(i.advance(true) == action::unload);
  CHECK(i.stage() == idle);
}

TEST_CASE("instance lifecycle: a parked engine that is in use again unloads later") {
  auto i = serving_instance();
  i.order(parked);
  i.advance(true);
  i.order(idle);
  CHECK(i.advance(false) == action::none);
  CHECK(i.stage() == parked);
  CHECK(i.advance(true) == action::unload);
  CHECK(i.stage() == idle);
}

TEST_CASE("instance lifecycle: orders to load or drain are ignored, and orders may be repeated") {
  auto i = serving_instance();
  i.order(draining);
  i.order(loading);
  i.order(serving);
  CHECK(i.advance(true) == action::none);
  CHECK(i.stage() == serving);
  i.order(parked);
  i.order(parked);
  i.advance(true);
  i.order(parked);
  CHECK(i.advance(true) == action::none);
  CHECK(i.stage() == parked);
}

TEST_CASE("instance lifecycle: whatever is ordered, loads and unloads alternate") {
  random_stream random(1, "lifecycle");
  instance_lifecycle i(true);
  bool has_weights = false;
  for (int step = 0; step < 10'000; ++step) {
    if (random.below(3) == 0) i.order(static_cast<instance_stage>(random.below(instance_stage_count)));
    if (random.below(3) == 0) i.on_loaded();
    const auto done = i.advance(random.below(2) == 0);
    CHECK(done != (has_weights ? action::load : action::unload));
    if (done != action::none) has_weights = done == action::load;
    CHECK(has_weights == (i.stage() != idle));
  }
}
