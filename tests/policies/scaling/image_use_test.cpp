#include "policies/scaling/image_use.hpp"

#include <doctest/doctest.h>

#include "tests/policies/scaling/scaling_views.hpp"

using namespace troupe;

TEST_CASE("image use: images are unused since their last request, or since anything is known") {
  small_view v(2);
  v.image(0);
  v.image(1);
  v.image(1, 1);
  v.view.keep = 5min;
  image_use use;
  use.learn(node_id{1}, weights_id{0}, time_point{100s});
  use.learn(node_id{1}, weights_id{1}, time_point{10s});
  const time_point now{130s};
  use.add_to(v.view, time_point{40s}, now);
  CHECK(v[0].unused_for(weights_id{0}) == 90s);
  CHECK(v[1].unused_for(weights_id{0}) == 30s);
  CHECK(v[1].unused_for(weights_id{1}) == 90s);
  CHECK(v[1].unused_for(weights_id{2}) == 0s);
  CHECK(image_use::next_unused(v.view, now) == now + 5min - 90s);
  v.view.keep = 80s;
  CHECK(image_use::next_unused(v.view, now) == now + 50s);
  v.view.keep = 30s;
  CHECK(image_use::next_unused(v.view, now) == never);
}
