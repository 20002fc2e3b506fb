#include "actors/runtime/peers_up.hpp"

#include <doctest/doctest.h>

using namespace troupe;

TEST_CASE("peers up: a peer is up in its latest incarnation, until that one ends") {
  peers_up up;
  const auto peer = [](uint64_t incarnation) { return address{node_id{3}, {incarnation}, role::gateway, 0}; };
  CHECK_FALSE(up.contains(node_id{3}));
  up.add(node_up{node_id{3}, {7}});
  up.add(node_up{node_id{3}, {8}});
  CHECK(up.contains(node_id{3}));
  CHECK(up.contains(peer(8)));
  CHECK_FALSE(up.contains(peer(7)));
  up.remove(node_down{node_id{3}, {7}});  // reported late
  CHECK(up.contains(peer(8)));
  up.remove(node_down{node_id{4}, {8}});
  CHECK(up.contains(peer(8)));
  up.remove(node_down{node_id{3}, {8}});
  CHECK_FALSE(up.contains(node_id{3}));
  CHECK_FALSE(up.contains(peer(8)));
}
