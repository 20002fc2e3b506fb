#include "actors/runtime/ended_incarnations.hpp"

#include <doctest/doctest.h>

using namespace troupe;

TEST_CASE("ended incarnations: the end of an incarnation includes earlier ones, but not later ones or any") {
  ended_incarnations ended;
  const auto of = [](uint64_t incarnation) { return address{node_id{3}, {incarnation}, role::gateway, 0}; };
  CHECK_FALSE(ended.contains(of(7)));
  ended.add(node_down{node_id{3}, {7}});
  CHECK(ended.contains(of(7)));
  CHECK(ended.contains(of(6)));
  CHECK_FALSE(ended.contains(of(8)));
  CHECK_FALSE(ended.contains(of(0)));
  CHECK_FALSE(ended.contains({node_id{2}, {7}, role::gateway, 0}));
  ended.add(node_down{node_id{3}, {5}});  // reported late
  CHECK(ended.contains(of(7)));
  ended.clear();
  CHECK_FALSE(ended.contains(of(7)));
}
